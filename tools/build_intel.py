# ruff: noqa: INP001 - a script beside the package and not a part of one
"""Writes the bundled list of user-agent tokens, `protection/threat_data/data/user_agents.json`, from published lists.

Run by hand when a list has a new release, with the files of the releases:
    python tools/build_intel.py --crawlers crawler-user-agents.json --agents ai_agents.json --note "names and versions"
"""

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from agentgate.protection.threat_data.crawlers import read_agents, read_crawlers  # noqa: E402 - after the path is set
from agentgate.protection.threat_data.user_agent_tokens import Token  # noqa: E402

TARGET = ROOT / "src/agentgate/protection/threat_data/data/user_agents.json"


def merged(agents: tuple[Token, ...], crawlers: tuple[Token, ...]) -> list[Token]:
    """Return every token once: what the list of AI agents says of a name goes before what the other says."""
    named: dict[str, Token] = {token.text: token for token in crawlers}
    agent_texts = {token.text for token in agents}
    # `gptbot/` is `gptbot` once more.
    kept = {text: token for text, token in named.items() if text.rstrip("/") not in agent_texts}
    return sorted([*agents, *kept.values()], key=lambda token: (token.kind, token.text))


def main() -> None:
    """Read the lists and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crawlers", type=Path, required=True)
    parser.add_argument("--agents", type=Path, required=True)
    parser.add_argument("--note", required=True, help="Names and versions of the lists.")
    given = parser.parse_args()
    crawlers = read_crawlers(json.loads(given.crawlers.read_text("utf-8")))
    agents = read_agents(json.loads(given.agents.read_text("utf-8"))["agents"])
    tokens = merged(agents.tokens, crawlers.tokens)
    rows = ",\n".join(
        json.dumps([token.text, token.kind, int(token.boundary), token.name, token.purpose], ensure_ascii=False)
        for token in tokens
    )
    TARGET.write_text(f'{{"note": {json.dumps(given.note)}, "tokens": [\n{rows}\n]}}\n', "utf-8")
    dropped = [*crawlers.dropped, *agents.dropped]
    sys.stdout.write(f"{len(tokens)} tokens; dropped {len(dropped)}: {', '.join(dropped)}\n")


if __name__ == "__main__":
    main()
