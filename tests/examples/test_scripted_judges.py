"""Judges that lie: what each says of a small answer, what becomes of it, and what they get away with in all."""

import asyncio
import json
from dataclasses import replace

import pytest
from scripted_judges import (
    DECEPTIVE_JUDGES,
    LabelledAnswer,
    read_labelled_answers,
    run_deceptive_judges,
)

from gigamind.datasets.schema import AnswerLabels
from gigamind.errors import DatasetError
from gigamind.judges.load import load_judge
from gigamind.judges.protocol import AnswerCase
from gigamind.prompting.fences import Source

QUESTION = "How much leave do I get, when does it expire, and who approves it?"
YEARLY = "Staff get 15 days of annual leave a year."
EXPIRES = "Unused days of annual leave expire on 31 March."
SICK = "Unused days of sick leave expire on 31 March."  # the note says it of annual leave
UNTOLD = "The notes do not say who approves it."
LABELS = {
    "utility": 0.75,
    "abstains": True,
    "claims": [
        {"text": YEARLY, "verdict": "supported", "note": 1, "quote": YEARLY},
        {"text": SICK, "verdict": "not_found"},
    ],
}
INVENTED = "Every quarter the parrots sing 77 operas. 분기마다 앵무새가 오페라 77곡을 부른다."
BY_NAME = {liar.name: liar for liar in DECEPTIVE_JUDGES}
NOTES = (Source("Leave", f"{YEARLY}\n\n{EXPIRES}\n\n(2026)\n"), Source("Garden", "Roses."))
ANSWER = LabelledAnswer.of(
    "a",
    AnswerCase(QUESTION, f"{YEARLY} {SICK} {UNTOLD}", NOTES, "en"),
    AnswerLabels.model_validate_json(json.dumps(LABELS)),
)


@pytest.fixture(scope="module")
def judge():
    return load_judge("search_qa")


# What they say


@pytest.mark.each(
    "name, said",
    [
        ("honest", [("claim", "supported", YEARLY), ("claim", "not_found", ""), ("abstention", "not_found", "")]),
        ("credulous", [*(("claim", "supported", one) for one in (YEARLY, EXPIRES)), ("abstention", "not_found", "")]),
        ("pastes_one_line", [("claim", "supported", EXPIRES)] * 3),
        ("always_supported", [("claim", "supported", quote) for quote in ("", INVENTED, "")]),
        ("no_claims", [("courtesy", "not_found", "")] * 3),
        ("abstains", [("abstention", "not_found", "")] * 3),
        ("swaps_ids", [("claim", "not_found", ""), ("abstention", "not_found", ""), ("claim", "supported", YEARLY)]),
        ("quotes_the_question", [("claim", "supported", quote) for quote in (QUESTION, SICK, QUESTION)]),
    ],
)  # fmt: skip
def test_each_liar_says_of_each_sentence_what_its_name_says(name, said):
    reply = BY_NAME[name].reply(ANSWER)
    assert [one.id for one in reply.claims] == [1, 2, 3]
    assert [(one.role, one.verdict, one.quote) for one in reply.claims] == said
    assert reply.utility == (0.75 if name in {"honest", "credulous"} else 1.0)


# The examples


@pytest.fixture(scope="module")
def examples():
    """Every fourth of them; all are judged honestly in e2e/test_answers_by_labels.py."""
    given = read_labelled_answers(None, None)
    return replace(given, answers=given.answers[1::4])


def test_the_honest_one_has_the_figures_of_people_and_no_liar_hides_a_claim(judge, examples):
    found = asyncio.run(run_deceptive_judges(judge, examples))
    labels = [answer.labels for answer in examples.answers]
    shares = [one.correctness for one in labels if one.correctness is not None]
    verdicts = [claim.verdict for one in labels for claim in one.claims]
    assert (found.answers, found.claims) == (10, len(verdicts))
    assert found.unsupported == len(verdicts) - verdicts.count("supported") > 5
    assert found.correctness == pytest.approx(sum(shares) / len(shares), abs=0.005)
    assert found.utility == pytest.approx(sum(one.utility for one in labels) / 10)
    honest, credulous, *liars = found.judges
    # What people doubt is stopped with the line most like it, and nothing else is.
    assert (credulous.passed_off, credulous.correctness) == (0, pytest.approx(honest.correctness))
    assert honest.correctness == pytest.approx(found.correctness)
    assert (honest.utility, honest.passed_off) == (found.utility, 0)
    assert {(one.hidden, one.unscored) for one in found.judges} == {(0, 0)}
    assert max(one.utility for one in liars) < 0.6


# Input


def row(name, **changes):
    text = {"title": "Leave", "text": f"{YEARLY} {EXPIRES}"}
    given = {"id": name, "question": QUESTION, "answer": YEARLY, "context_notes": [text]}
    return json.dumps(given | {"labels": LABELS} | changes)


@pytest.mark.parametrize(
    ("rows", "values"),
    [
        ([row("a", labels=None)], {}),
        ([row("a"), row("b", context_notes=[{"path": "x.md"}])], {"rejected": 1, "rows": 2}),
    ],
)
def test_a_dataset_that_cannot_tell_lies_is_refused(text_file, rows, values):
    with pytest.raises(DatasetError) as caught:
        read_labelled_answers(text_file("\n".join(rows)), None)
    assert values.items() <= caught.value.message.values.items()
