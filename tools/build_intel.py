# ruff: noqa: INP001 - a script outside of the package
"""Writes the bundled list of user-agent tokens, `decision/threat_data/data/user_agents.json`, from published lists.

Run by hand with the files of new releases, the most informative first; `--help` names the options. Names that people's
browsers also send (`tests/population/people.txt.xz`, generated again with `--people`), builds and models are rejected.
The names kept by hand (`data/clients.json`) are compared with the same evidence, and the build fails if one of them is
rejected.
"""

import argparse
import json
import lzma
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from agentgate.decision.threat_data.intel import TokenFile  # noqa: E402
from agentgate.decision.threat_data.user_agent_tokens import Token  # noqa: E402
from agentgate_tools.threat_lists.crawlers import ReadTokens, read_agents  # noqa: E402 - after the path is set
from agentgate_tools.threat_lists.name_evidence import judge_names  # noqa: E402
from agentgate_tools.threat_lists.name_lists import read_lines, read_names  # noqa: E402

DATA = ROOT / "src/agentgate/decision/threat_data/data"
TARGET, BY_HAND = DATA / "user_agents.json", DATA / "clients.json"
PEOPLE = ROOT / "tests/population/people.txt.xz"
WANTED, GENERAL = {"uptime", "preview", "feed_reader", "webhook"}, {"crawler", "seo", "http_library"}
WORD = re.compile(r"[a-z][a-z0-9_-]{2,}")


def people() -> list[str]:
    """Return the User-Agents of people."""
    return lzma.decompress(PEOPLE.read_bytes()).decode().splitlines()


def write_people(files: Iterable[Path]) -> None:
    """Write the corpus: every User-Agent that has a word which none before it has."""
    seen: set[str] = set()
    kept = []
    for text in sorted({line.strip() for file in files for line in file.read_text("utf-8").splitlines()}):
        words = set(WORD.findall(text.lower()))
        if not words <= seen:
            seen |= words
            kept.append(text)
    PEOPLE.write_bytes(lzma.compress("\n".join(kept).encode() + b"\n", preset=9 | lzma.PRESET_EXTREME))
    sys.stdout.write(f"{len(kept)} User-Agents of people\n")


def merged(lists: Iterable[tuple[Token, ...]], by_hand: set[str]) -> list[Token]:
    """Return every name once: an earlier list has precedence over a later one.

    A kind that describes the program's purpose has precedence over one that only describes it as a crawler.
    """
    named: dict[str, Token] = {}
    for index, tokens in enumerate(lists):
        for token in tokens:
            # `gptbot/` is `gptbot` once more.
            bare = token.text.rstrip("/")
            known = named.get(bare)
            # The first list, that of AI agents, is careful about them; what is kept by hand goes before all others.
            if bare in by_hand and index:
                continue
            if known is None or (token.kind in WANTED and known.kind in GENERAL):
                named[bare] = token
    return sorted(named.values(), key=lambda token: (token.kind, token.text))


def tokens_by_hand() -> tuple[Token, ...]:
    """Return the names that are kept by hand."""
    return tuple(token.token() for token in msgspec.json.decode(BY_HAND.read_bytes(), type=TokenFile).tokens)


def read_list(path: Path) -> ReadTokens:
    """Read a published list; stop when its shape is not known."""
    read = read_names(json.loads(path.read_text("utf-8")))
    if read is None:
        raise SystemExit(f"{path} is no list of a known shape")
    return read


def main() -> None:
    """Read the lists and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=Path)
    parser.add_argument("--list", type=Path, action="append", default=[], help="A published list in JSON.")
    parser.add_argument("--names", action="append", default=[], help="kind=FILE: names of one kind, one a line.")
    parser.add_argument("--people", type=Path, action="append", default=[])
    parser.add_argument("--note", default="", help="Names, versions and licenses of the lists.")
    given = parser.parse_args()
    if given.people:
        write_people(given.people)
    if given.agents is None:
        return
    read = [read_agents(json.loads(given.agents.read_text("utf-8"))["agents"]), *map(read_list, given.list)]
    for pair in given.names:
        kind, _, file = pair.partition("=")
        read.append(read_lines(Path(file).read_text("utf-8").splitlines(), kind))
    by_hand, corpus = tokens_by_hand(), people()
    judged = judge_names(merged((each.tokens for each in read), {token.text.rstrip("/") for token in by_hand}), corpus)
    rows = ",\n".join(
        json.dumps([token.text, token.kind, token.boundary.name.lower(), token.name, token.purpose], ensure_ascii=False)
        for token in judged.tokens
    )
    TARGET.write_text(f'{{"note": {json.dumps(given.note)}, "tokens": [\n{rows}\n]}}\n', "utf-8")
    dropped = [text for each in read for text in each.dropped]
    sys.stdout.write(f"{len(judged.tokens)} tokens; not plain text, {len(dropped)}: {', '.join(dropped)}\n")
    for text, reason in judged.refused:
        sys.stdout.write(f"refused {text!r}: {reason}\n")
    wrong = [text for text, _ in judge_names(by_hand, corpus).refused]
    if wrong:
        raise SystemExit(f"refused among the names kept by hand: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
