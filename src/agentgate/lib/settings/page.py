"""The page `docs/settings.md` around its table. `schema.py` fills it in."""

PAGE = """\
# Settings

This page is generated from `src/agentgate/lib/settings/schema.py`: `agentgate check-config --page > docs/settings.md`.

A setting is an environment variable or a line of `agentgate.toml` (in the working folder, or named by `--config`) under
its name in small letters without `AGENTGATE_`: `workers = 2`. The environment wins. Lists have commas between their
items, or are TOML lists. An unknown name is refused, and all problems are reported at once.

A secret may lie in a file whose path is given instead: {secrets}.

`agentgate check-config` prints what is in force and where it came from, with secrets hidden.

| Name | Meaning | Default | Accepted |
| --- | --- | --- | --- |
{rows}
"""
