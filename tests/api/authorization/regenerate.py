"""Rewrite the table: `python -m tests.api.authorization.regenerate`. Review the difference before you commit it."""

import tempfile

from agentgate.lib.settings.schema import read_settings
from tests.api.authorization.table import PATH, make_table
from tests.support.service import ADMIN_KEY, running_service


def main() -> None:
    """Start the service on an empty embedded store, ask everything, write the file."""
    with tempfile.TemporaryDirectory() as folder:
        settings = read_settings(
            {
                "AGENTGATE_DATA_DIR": folder,
                "AGENTGATE_PUBLIC_LISTEN": "127.0.0.1:0",
                "AGENTGATE_ADMIN_LISTEN": "127.0.0.1:0",
                "AGENTGATE_ADMIN_KEY": ADMIN_KEY,
                "AGENTGATE_DRAIN_SECONDS": "0",
                "AGENTGATE_CONFIRM_CRAWLERS": "off",
            }
        )
        with running_service(settings) as service:
            PATH.write_text(make_table(service), encoding="utf-8")


if __name__ == "__main__":
    main()
