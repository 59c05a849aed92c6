"""Words everybody uses: records, enumerations, time, identifiers, cursors. Imports nothing of ours."""
