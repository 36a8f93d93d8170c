import json
import re
from importlib import resources
from types import SimpleNamespace

import pytest
from judged_folders import ANSWER as PLAIN
from judged_folders import CLAIM, EVALUATION

from gigamind.i18n import translator
from gigamind.records import judged
from gigamind.release.comparison import ItemChange
from gigamind.release.model import SnapshotCheck
from gigamind.tasks.answers import schema
from gigamind.tasks.answers.page import _pieces, list_data

ANSWER = "Hi! It is 15 days. 장미는 없다. </script><b>x"
NOTE = schema.NoteReport(
    title="Leave", path=None, text="<i>" + "a" * 200 + " It is 15 days. " + "b" * 200
)


def named(name, values):
    """The values of an array by the fields of answer_item.js."""
    file = resources.files("gigamind.reports.page") / "templates" / "answer_item.js"
    declared = re.search(rf"const {name} = (\[.*?\]);", file.read_text("utf-8"), re.DOTALL)
    return dict(zip(json.loads(declared[1]), values, strict=True))


def listed(*items, lang="en", comparison=None, baseline=()):
    """The data of the list of these answers as its script reads it, and its rows."""
    record = SimpleNamespace(items=items, run=SimpleNamespace(judge=None))
    before = SimpleNamespace(items=baseline)
    data = json.loads(list_data(record, translator(lang), comparison, before))
    return data, [named("FIELDS", row) for row in data["items"]]


def claims(row):
    """The claims of a row."""
    return [named("CLAIM_FIELDS", values) for values in row["claims"]]


def claim(number, text, verdict, *, evidence=None):
    start = ANSWER.index(text)
    end = start + len(text)
    place = {"start": start, "end": end, "utf16_start": start, "utf16_end": end}
    told = {"told": "supported", "verdict": verdict, "note": 1 if evidence else None}
    told |= {"doubt": "quote_not_in_note"} if verdict == "unverified" else {}
    return CLAIM | place | told | {"id": number, "text": text, "evidence": evidence}


def aligned(quote):
    """Evidence of a quote of the note."""
    start = NOTE.text.index(quote)
    place = {"source_index": 0, "start": start, "end": start + len(quote)}
    return {"status": "aligned", "quote": quote, **place}


@pytest.fixture
def item():
    failed = {"status": "failed", "quote": "no such words", "source_index": 0}
    claims = [
        claim(1, "It is 15 days.", "supported", evidence=aligned("It is 15 days.")),
        claim(2, "장미는 없다.", "unverified", evidence=failed),
    ]
    evaluation = EVALUATION | {"correctness": 0.5, "utility": 0.25, "confidence": "medium"}
    evaluation |= {"grounding_issues": ["issue"], "summary": "s", "claims": claims}
    evaluation |= {"reported_answerable": True, "reported_correctness": 1.0}
    evaluation |= {"reported_utility": 0.25, "utility_reason": "r"}
    evaluation |= {"flagged": {1: ["looks_like_instructions"]}}
    said = schema.LabelledClaimReport(text="장미는 없다.", verdict="not_found", note=None, claim=2)
    labels = {"correctness": None, "utility": None, "abstains": None, "claims": (said,)}
    values = {"id": "a", "question": "q", "answer": ANSWER, "language": "en", "tags": ("t2", "t1")}
    values |= {"notes": (NOTE,), "evaluation": evaluation, "labels": labels}
    return schema.AnswerItemReport.model_validate(PLAIN | values)


def test_the_pieces_of_an_answer_are_the_answer_with_its_claims_marked(item):
    found = _pieces(item)
    assert "".join(text for text, _, _ in found) == ANSWER
    assert [(kind, number) for _, kind, number in found] == [
        ("", 0), ("supported", 1), ("", 0), ("unverified", 2), ("", 0),
    ]  # fmt: skip


def test_a_sentence_that_is_no_claim_stands_among_the_pieces_by_its_role(item):
    greeting = judged.EvaluatedAside(
        id=9, text="Hi!", start=0, end=3, utf16_start=0, utf16_end=3, role="courtesy"
    )
    told = item.evaluation.model_copy(update={"asides": (greeting,)})
    found = _pieces(item.model_copy(update={"evaluation": told}))
    assert found[:3] == [("Hi!", "courtesy", 9), (" ", "", 0), ("It is 15 days.", "supported", 1)]
    assert "".join(text for text, _, _ in found) == ANSWER


def test_what_is_left_out_has_its_words_or_why_it_does_not_count(item):
    failed = {"status": "failed", "quote": "no such words", "source_index": 0}
    told = item.evaluation.model_copy(update={"omissions": (
        judged.EvaluatedOmission(what="days", note=1, doubt=None, evidence=aligned("It is")),
        judged.EvaluatedOmission(what="pay", note=None, doubt="quote_not_in_note", evidence=failed),
    )})  # fmt: skip
    facts = (schema.LabelledFactReport(text="f", vital=True, note=1, claim=2),)
    changes = {"evaluation": told, "labels": item.labels.model_copy(update={"facts": facts})}
    _data, (row,) = listed(item.model_copy(update=changes))
    (what, doubt, title, quote, passage), unproven = row["omissions"]
    assert (what, doubt, title, quote, passage[1]) == ("days", "", "Leave", "It is", "It is")
    assert unproven[1:] == ["quote_not_in_note", "Leave", "no such words", None]
    assert row["facts"] == [["f", True, True, 2]]


def test_a_quote_stands_in_its_passage_and_a_failed_one_in_none(item):
    first, second = claims(listed(item)[1][0])
    before, words, after = first["passage"]
    assert words == "It is 15 days."
    # 120 code points on either side, and the sign that there is more.
    assert before == "…" + "a" * 119 + " "
    assert after == " " + "b" * 119 + "…"
    assert (second["quote"], second["passage"]) == ("no such words", None)
    assert second["labelled"] == "not_found"


def test_a_claim_shows_the_sentence_that_it_was_compared_with_under_its_heading(item):
    first, *rest = item.evaluation.claims
    held = first.model_copy(
        update={
            "source": judged.SourceSentence(
                heading="Yearly", text="- Staff: It is 15 days. Not 16."
            )
        }
    )
    told = item.evaluation.model_copy(update={"claims": (held, *rest)})
    row = claims(listed(item.model_copy(update={"evaluation": told}))[1][0])[0]
    assert row["note"] == "Leave › Yearly"
    assert row["passage"] == ["- Staff: ", "It is 15 days.", " Not 16."]


def test_each_unsupported_claim_says_why_in_the_language_of_the_page(item):
    english, korean = (claims(listed(item, lang=lang)[1][0]) for lang in ("en", "ko"))
    assert [len(claim["why"]) for claim in english] == [0, 1]
    assert english[1]["why"] != korean[1]["why"]


def test_the_baseline_has_what_its_snapshot_stores(item):
    before = schema.AnswerItem(
        id="a", question="q", evaluated=True, metrics={"correctness": 1.0, "utility": None},
        unsupported=("old",), left_out=("fact",), check=SnapshotCheck(passed=True, yes={}),
    )  # fmt: skip
    what = ItemChange(
        id="a", text="q", expected_notes=(), change="worse", what="x",
        baseline_ranking=None, current_ranking=None,
    )  # fmt: skip
    comparison = SimpleNamespace(changes=(what,))
    other = item.model_copy(update={"id": "b"})
    data, (row, alone) = listed(item, other, comparison=comparison, baseline=(before,))
    assert data["compared"]
    assert (row["change"], row["what"]) == ("worse", "x")
    assert row["before"] == [[1.0, None], ["old"], ["fact"], True]
    assert (alone["change"], alone["what"], alone["before"]) == ("", "", None)


def test_tags_are_places_in_one_list_and_flags_are_told_by_title(item):
    data, (row,) = listed(item)
    assert (data["tags"], row["tags"]) == (["t1", "t2"], [1, 0])
    assert row["flagged"] == ["Leave"]


def test_an_answer_without_an_evaluation_shows_how_it_ended(item):
    left = item.model_copy(update={"evaluation": None, "outcome": "refused", "code": "refused"})
    alone = item.model_copy(update={"evaluation": None, "outcome": "without_context"})
    data, rows = listed(left, alone)
    assert [row["outcome"] for row in rows] == ["refused", "without_context"]
    assert {"refused", "without_context"} <= data["labels"].keys()
    assert rows[0]["pieces"] == [[ANSWER, "", 0]]
