"""The measurement of the shipped bot model: rows of the gateway, and the section about the fresh split."""

from agentgate.decision.scoring.model_file import ModelFile
from agentgate.lib.records import json_decoder
from bench.bot_model.card import AFTER_FRESH, FRESH, SHIPPED, fresh_part, with_fresh_part
from bench.bot_model.fresh import KINDS, bot_requests
from bench.bot_model.judge import judge
from bench.bot_model.rows import Row, decided

MODEL: ModelFile = json_decoder(ModelFile).decode(SHIPPED.read_bytes())


def row(*labels: str, is_bot: bool, is_stopped: bool = False, source: str = "unwanted") -> Row:
    return Row(source, "kind", is_bot, is_bot, False, "visitor", 0, labels, is_stopped)


def test_a_row_has_the_labels_from_before_scoring() -> None:
    rows = decided([("fresh", list(kind)[:1]) for kind in bot_requests(7, 1)])

    assert [each.family for each in rows] == list(KINDS)
    assert all(each.is_bot and each.is_disguised and each.evidence for each in rows)
    assert any("model.bot.likely" in each.labels for each in rows)
    assert not any(label.startswith("model.") for each in rows for label in each.evidence)


def test_the_card_shows_which_allowed_bots_look_like_people() -> None:
    people = [row("ua.browser", is_bot=False, source="people")]
    bots = [
        row("ua.browser", is_bot=True),
        row("http.unlike_browser", "ua.browser", is_bot=True),
        row("ua.scanner", is_bot=True, is_stopped=True),
    ]

    part = fresh_part(judge(MODEL, people + bots, []), people + bots, MODEL, 2)
    assert "that the rules alone allow | 1 of 2 (" in part
    assert "1 of 2 (9.5% to 90.5%) have exactly the labels of some request of a person" in part

    page = f"# Card\n\n{AFTER_FRESH}\nold\n"
    assert (
        with_fresh_part(with_fresh_part(page, f"{FRESH}\nearlier\n\n"), part) == f"# Card\n\n{part}{AFTER_FRESH}\nold\n"
    )
