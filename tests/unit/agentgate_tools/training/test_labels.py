"""Reading exported decision labels, and choosing those that can train a model."""

import json

import pytest

from agentgate.lib.enums import ModelKind
from agentgate_tools.training.labels import TrainingRefused, examples_for, read_labels
from tests.unit.decision.scoring.made_labels import lines, made_labels


def changed(item, **fields):
    return item | fields


def test_lines_and_pages_one_after_the_other_are_read_alike():
    items = made_labels(30)
    pages = json.dumps({"items": items[:20], "nextCursor": "x"}, indent=2) + json.dumps({"items": items[20:]})

    assert read_labels(pages) == read_labels(lines(items))
    assert len(read_labels(pages)) == 30


def test_the_order_of_the_lines_does_not_matter():
    items = made_labels(30)

    assert read_labels(lines(reversed(items))) == read_labels(lines(items))


def test_an_empty_file_has_no_labels():
    assert read_labels(" \n\n") == []


def test_a_decision_that_was_labelled_again_counts_once_as_labelled_last():
    first = made_labels(1)[0]
    later = changed(first, label="human", updatedAt="2026-12-01T00:00:00Z")

    for text in (lines([first, later]), lines([later, first])):
        assert [decision.label for decision in read_labels(text)] == ["human"]


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ('{"decisionId": ', "line 3 is not JSON: Expecting value (noticed in line 4)"),
        ("decisionId,label", "line 3 is not JSON: Expecting value"),
        ("[]", "line 3: expected a label object or a page of labels, not an array"),
        ('"x"', "line 3: expected a label object or a page of labels, not text"),
        ('{"items": {}}', "line 3: `items` of a page must be an array of labels"),
        ("{}", "line 3 is not a decision label: Object missing required field `decisionId`"),
        ('{"score": NaN}', "line 3 is not JSON: NaN is not a number"),
        ("[" * 100_000, "line 3 is not JSON: "),
    ],
)
def test_a_malformed_line_is_rejected_with_its_number(broken, told):
    with pytest.raises(TrainingRefused) as refused:
        read_labels(lines(made_labels(2)) + broken + "\n")

    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"label": "robot"}, "Invalid enum value 'robot' - at `$.label`"),
        ({"source": "guess"}, "Invalid enum value 'guess' - at `$.source`"),
        ({"updatedAt": "yesterday"}, "expected a date and time such as 2026-01-31T09:30:00Z - at `$.updatedAt`"),
        ({"evidence": {}}, "Object missing required field `time` - at `$.evidence`"),
    ],
)
def test_a_label_with_a_wrong_field_is_rejected_and_the_field_named(fields, told):
    good, bad = made_labels(2)

    with pytest.raises(TrainingRefused) as refused:
        read_labels(lines([good, changed(bad, **fields)]))

    assert str(refused.value) == f"line 2 is not a decision label: {told}"


def test_a_figure_that_is_infinite_is_rejected():
    text = lines(made_labels(1)).replace('"rate_visitor": ', '"rate_visitor": 1e999, "x": ')

    with pytest.raises(TrainingRefused, match="line 1: the measurement rate_visitor must be at most"):
        read_labels(text)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ModelKind.BOT, {"bot": {1}, "human": {0}}),
        (ModelKind.AGENT, {"bot": {0}, "human": {0}, "agent": {1}}),
    ],
)
def test_the_target_follows_from_kind_and_label_and_unsure_is_never_used(kind, expected):
    items = made_labels(120, kinds=("bot", "human", "agent"))
    items += [changed(item, label="unsure", decisionId=f"x{item['decisionId']}") for item in items]

    targets = {}
    for example in examples_for(kind, read_labels(lines(items)), least=20):
        targets.setdefault(example.decision.label.value, set()).add(example.target)

    assert targets == expected


def test_only_decisions_with_content_teach_the_content_model():
    with_content = made_labels(40, extra=("content.many_links",))
    without = [changed(item, decisionId=f"x{item['decisionId']}") for item in made_labels(40)]

    examples = examples_for(ModelKind.CONTENT, read_labels(lines(with_content + without)), least=20)

    assert {example.decision.decision_id for example in examples} == {item["decisionId"] for item in with_content}


def test_good_texts_that_have_a_score_and_no_label_teach_the_content_model():
    items = made_labels(40)
    for item in items:
        item["evidence"]["scores"] = {"content": 0.1}

    assert len(examples_for(ModelKind.CONTENT, read_labels(lines(items)), least=20)) == 40


def test_too_few_labels_are_rejected_with_the_numbers():
    with pytest.raises(TrainingRefused) as refused:
        examples_for(ModelKind.BOT, read_labels(lines(made_labels(99))), least=100)

    assert str(refused.value) == (
        "99 of 99 labels can be used for kind bot (bot and human), and at least 100 are needed;"
        " label more decisions, or lower --min-labels"
    )


@pytest.mark.parametrize(
    ("kind", "missing"), [(ModelKind.BOT, "human"), (ModelKind.AGENT, "agent"), (ModelKind.CONTENT, "human")]
)
def test_only_one_response_is_rejected_and_the_other_named(kind, missing):
    items = made_labels(40, kinds=("bot",), extra=("content.many_links",))

    with pytest.raises(TrainingRefused, match=rf"only 0 usable label\(s\) are {missing}; a model of kind {kind}"):
        examples_for(kind, read_labels(lines(items)), least=20)
