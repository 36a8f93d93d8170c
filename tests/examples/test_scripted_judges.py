"""Judges that lie: what each says of a small answer, what becomes of it, and what they get away with in all."""

import asyncio
import json
from pathlib import Path

import pytest
from pydantic import BaseModel
from scripted_judges import (
    DECEPTIVE_JUDGES,
    LabelledAnswer,
    LabelledAnswers,
    ScriptedClient,
    judged_by,
    read_labelled_answers,
    run_deceptive_judges,
)

from gigamind.datasets.schema import AnswerLabels
from gigamind.errors import DatasetError, InputError
from gigamind.judges.load import load_judge
from gigamind.judges.protocol import AnswerCase
from gigamind.llm.ask import LanguageModel
from gigamind.llm.settings import ModelSettings
from gigamind.prompting.fences import Source

EXAMPLES = Path(__file__).parents[2] / "examples"
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


@pytest.fixture(scope="module")
def figures(judge):
    """What each liar gets away with on the small answer."""
    found = asyncio.run(
        run_deceptive_judges(judge, LabelledAnswers("small.jsonl", "0" * 64, (ANSWER,), 0))
    )
    return {liar.name: liar for liar in found.judges}


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


def test_only_who_says_what_people_say_tells_what_is_left_out():
    facts = [{"text": fact} for fact in (YEARLY, "expire on 31 March", "Nobody wrote this.")]
    labels = AnswerLabels.model_validate_json(json.dumps(LABELS | {"facts": facts}))
    answer = LabelledAnswer.of("a", ANSWER.case, labels)
    told = {name: liar.reply(answer).omissions for name, liar in BY_NAME.items()}
    assert [(one.note, one.quote) for one in told["honest"]] == [(1, "expire on 31 March")]
    assert {name for name, omissions in told.items() if omissions} == {"honest", "credulous"}


def test_who_abstains_copies_the_words_of_the_sentence():
    said = BY_NAME["abstains"].reply(ANSWER).claims
    assert [one.abstention_quote for one in said] == [YEARLY, SICK, UNTOLD]


def test_nothing_is_a_claim_to_who_says_what_each_sentence_looks_like():
    text = f"# Leave\n\nThe rules are:\n\n{YEARLY} [Note 1] Is there more? {SICK}"
    case = AnswerCase(QUESTION, text, (Source("Leave", YEARLY),), "en")
    reply = BY_NAME["no_claims"].reply(LabelledAnswer.of("a", case, AnswerLabels()))
    assert [one.role for one in reply.claims] == [
        "heading",
        "lead_in",
        "source",
        "question",
        "courtesy",
    ]


# What becomes of it


@pytest.mark.parametrize(
    ("name", "correctness", "passed_off"),
    [
        ("honest", 0.5, 0),  # the first claim of two: the third sentence claims nothing
        ("always_supported", 0.0, 0),
        ("no_claims", 0.0, 0),
        ("abstains", 0.0, 0),
        ("quotes_the_question", 0.0, 0),  # "sick" is one word beside the note
    ],
)
def test_a_lie_that_no_quote_carries_supports_nothing_and_hides_nothing(
    figures, name, correctness, passed_off
):
    found = figures[name]
    assert (found.correctness, found.passed_off) == (correctness, passed_off)
    assert (found.hidden, found.unscored) == (0, 0)


def test_findings_under_other_ids_take_the_true_claim_away(figures):
    assert figures["swaps_ids"].passed_off == 0
    assert figures["swaps_ids"].correctness < 0.5


def test_utility_is_the_word_of_the_liar_only_where_a_claim_is_proven(figures):
    assert figures["honest"].utility == figures["credulous"].utility == 0.75
    assert {found.utility for found in list(figures.values())[2:]} == {0.4}


def test_the_rules_of_the_judge_say_why_a_lie_fails(judge):
    def of(name, what):
        (found,) = asyncio.run(judged_by(judge, BY_NAME[name], [ANSWER]))
        return [getattr(one, what) for one in found.sentences]

    assert of("always_supported", "doubt") == ["no_quote", "quote_not_in_note", "no_quote"]
    assert of("quotes_the_question", "doubt")[:2] == ["quote_not_in_note", "quote_changed"]
    assert of("no_claims", "veto")[0] == "number"
    assert of("abstains", "veto") == ["number", "number", None]  # the third does abstain


# Asked again


class Look(BaseModel):
    id: int
    unsaid: str
    said: bool


class Looks(BaseModel):
    looks: tuple[Look, ...]


@pytest.mark.each("name, said", [("pastes_one_line", [True, True]), ("honest", [True, False])])
def test_a_liar_says_yes_to_whatever_it_is_asked_again_and_the_honest_one_what_people_say(
    name, said
):
    rows = [
        {"id": 7, "statement": YEARLY, "text": YEARLY},
        {"id": 9, "statement": SICK, "text": '[{"id": 1}]'},
    ]
    prompt = f"Is it said? (a JSON array): {json.dumps(rows)}\n\nReply with JSON."
    client = ScriptedClient(BY_NAME[name], ANSWER)
    model = LanguageModel(ModelSettings("liar"), client=client, parameters={"max_tokens": 99})
    asked = model.ask([{"role": "user", "content": prompt}], Looks, item_id="a")
    found = asyncio.run(asked).looks
    assert [(one.id, one.unsaid) for one in found] == [(7, ""), (9, "")]
    assert [one.said for one in found] == said


# The examples


@pytest.fixture(scope="module")
def on_examples(judge):
    return asyncio.run(run_deceptive_judges(judge, read_labelled_answers(None, None)))


def test_the_honest_one_has_the_figures_of_people_and_no_liar_hides_a_claim(on_examples):
    lines = (EXAMPLES / "answers.jsonl").read_text("utf-8").splitlines()
    labels = [json.loads(line)["labels"] for line in lines]
    right = [one["correctness"] for one in labels if one["correctness"] is not None]
    verdicts = [claim["verdict"] for one in labels for claim in one["claims"]]
    assert on_examples.answers == 40
    assert (on_examples.claims, on_examples.unsupported) == (73, 19)
    assert len(verdicts) - verdicts.count("supported") == 19
    assert on_examples.correctness == pytest.approx(sum(right) / len(right), abs=0.005)
    assert on_examples.utility == pytest.approx(sum(one["utility"] for one in labels) / 40)
    honest, credulous, *liars = on_examples.judges
    # What people doubt is stopped with the line most like it, and nothing else is.
    assert (credulous.passed_off, credulous.correctness) == (0, pytest.approx(honest.correctness))
    assert honest.correctness == pytest.approx(on_examples.correctness)
    assert (honest.utility, honest.passed_off) == (on_examples.utility, 0)
    assert {(one.hidden, one.unscored) for one in on_examples.judges} == {(0, 0)}
    assert max(one.utility for one in liars) < 0.6


def test_only_who_quotes_the_notes_gets_a_claim_past_the_judge(on_examples):
    found = {one.name: one for one in on_examples.judges}
    for name in ("always_supported", "no_claims", "abstains", "quotes_the_question"):
        assert (found[name].passed_off, found[name].correctness < 0.1) == (0, True)
    # A quote proves that it stands in the note; that it says the claim is seen in its words, or by who looks again.
    for name in ("pastes_one_line", "swaps_ids"):
        assert (found[name].passed_off <= 2, found[name].correctness < 0.2) == (True, True)


# Input


def row(name, **changes):
    text = {"title": "Leave", "text": f"{YEARLY} {EXPIRES}"}
    given = {"id": name, "question": QUESTION, "answer": YEARLY, "context_notes": [text]}
    return json.dumps(given | {"labels": LABELS} | changes)


def test_answers_without_labels_or_notes_are_counted_and_left_out(text_file):
    rows = [row("a"), row("b", labels=None), row("c", context_notes=[])]
    found = read_labelled_answers(text_file("\n".join(rows)), None)
    assert ([one.id for one in found.answers], found.unlabelled) == (["a"], 2)


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


def test_a_vault_without_its_answers_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"--notes .*--dataset"):
        read_labelled_answers(None, tmp_path)
