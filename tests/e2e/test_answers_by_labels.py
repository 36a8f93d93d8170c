"""`gigamind eval answers` on the forty example answers, judged as people judged them, and judged by a liar."""

import json
import re
from collections import Counter

import pytest

from gigamind.judges.search_qa.passage import LEAST_ANSWERED


def lines(out):
    rows = map(json.loads, (out / "per_item.jsonl").read_text("utf-8").splitlines())
    return {row["id"]: row for row in rows}


@pytest.fixture(scope="module")
def honest(labelled_answers):
    replies = labelled_answers.honest() + labelled_answers.checks()
    return labelled_answers.run("honest", replies, "--checklist")


def test_correctness_and_utility_are_those_that_people_gave(honest, labelled_answers):
    found = lines(honest)
    assert len(found) == 40
    for row in labelled_answers.rows:
        told, said = found[row["id"]]["evaluation"], row["labels"]
        rounded = None if told["correctness"] is None else round(told["correctness"], 2)
        assert (row["id"], rounded) == (row["id"], said["correctness"])
        assert (row["id"], told["utility"]) == (row["id"], said["utility"])
        assert [claim["verdict"] for claim in told["claims"]] == [
            claim["verdict"] for claim in said["claims"]
        ]


def test_the_summary_agrees_with_the_labels_wholly_in_both_languages(honest, labelled_answers):
    summary = json.loads((honest / "summary.json").read_text("utf-8"))
    agreement = summary["agreement"]
    assert (agreement["claim_accuracy"], agreement["claims_unmatched"]) == (1.0, 0)
    assert (agreement["abstention_accuracy"], agreement["utility_error"]) == (1.0, 0.0)
    assert agreement["correctness_error"] < 0.005  # labels have two decimals
    for language in ("ko", "en"):
        said = [
            row["labels"]["correctness"]
            for row in labelled_answers.rows
            if row["language"] == language and row["labels"]["correctness"] is not None
        ]
        mean = summary["by_language"][language]["answers"]["correctness"]
        assert mean == pytest.approx(sum(said) / len(said), abs=0.005)


# Read by hand: of the facts that a complete answer gives, how many this one does.
GIVEN = {
    "a-001": (2, 2), "a-002": (2, 2), "a-005": (2, 2), "a-006": (1, 2), "a-007": (1, 2),
    "a-008": (1, 2), "a-009": (1, 2), "a-017": (0, 1), "a-019": (0, 2), "a-020": (1, 2),
    "a-021": (2, 2), "a-022": (2, 2), "a-025": (2, 2), "a-026": (3, 4), "a-027": (1, 3),
    "a-028": (2, 3), "a-029": (1, 2), "a-031": (1, 2), "a-039": (0, 2), "a-040": (0, 1),
}  # fmt: skip


def test_completeness_is_what_a_person_counts(honest):
    found = {name: row for name, row in lines(honest).items() if row["labels"]["facts"]}
    assert {name: row["metrics"]["completeness"] for name, row in found.items()} == {
        name: pytest.approx(given / of) for name, (given, of) in GIVEN.items()
    }
    summary = json.loads((honest / "summary.json").read_text("utf-8"))
    assert summary["facts_unbacked"] == 0
    # Who is honest tells as left out just what is, in words of a note.
    assert summary["omissions"] == {"proven": sum(of - given for given, of in GIVEN.values())}


def test_wrong_claims_are_told_apart_by_whether_a_note_backs_them(honest, labelled_answers):
    summary = json.loads((honest / "summary.json").read_text("utf-8"))
    shares = [
        sum(not claim["correct"] for claim in row["labels"]["claims"])
        / len(row["labels"]["claims"])
        for row in labelled_answers.rows
        if row["labels"]["claims"]
    ]
    found = summary["overall"]["answers"]
    # What is wrong in the examples stands in no note, and what is right does.
    assert found["hallucination"] == pytest.approx(sum(shares) / len(shares))
    assert (found["noise_sensitivity"], found["self_knowledge"]) == (0.0, 0.0)
    assert summary["overall"]["intervals"]["answers.hallucination"]["n"] == len(shares) == 34


def test_every_confidence_follows_the_rule_of_the_product(honest, labelled_answers):
    grades, found = Counter(), lines(honest)
    for row in labelled_answers.rows:
        correct, useful = row["labels"]["correctness"], row["labels"]["utility"]
        judged = found[row["id"]]["evaluation"]
        if correct is None:
            grade = "none"
        elif correct >= 0.8 and useful >= 0.7 and judged["answers_question"] >= LEAST_ANSWERED:
            grade = "high"
        else:
            grade = "medium" if correct >= 0.5 else "low"
        grades[grade] += 1
        assert (judged["confidence"] or "none") == grade
    # Two right answers say little of what their questions ask in two parts.
    assert (grades["high"], grades["medium"]) == (14, 14)
    summary = json.loads((honest / "summary.json").read_text("utf-8"))
    assert summary["confidence"] == grades


def test_every_answer_passes_its_checklist_as_three_of_four_items_say(honest, labelled_answers):
    found = lines(honest)
    passed = Counter()
    for row in labelled_answers.rows:
        quality = found[row["id"]]["quality"]
        yes = {item["id"] for item in quality["items"] if item["yes"]}
        assert yes == {
            item["id"] for item in quality["items"] if labelled_answers.words_of(row, item["id"])
        }
        assert all(item["trusted"] for item in quality["items"] if item["yes"])
        assert (quality["passed"], quality["ratio"]) == (len(yes) >= 3, len(yes) / 4)
        passed[row["language"]] += quality["passed"]
    block = json.loads((honest / "summary.json").read_text("utf-8"))["quality"]
    assert {name: part["passed"] for name, part in block["by_language"].items()} == passed
    assert (block["overall"]["checked"], block["unchecked"]) == (40, 0)
    assert block["overall"]["pass_rate"] == passed.total() / 40


@pytest.mark.whole
def test_no_claim_of_people_is_let_off_because_the_model_gives_it_another_role(labelled_answers):
    """73 claims, true and false: each is said to state nothing, with its own words for an abstention."""
    hiding = labelled_answers.hiding("abstention")
    out = labelled_answers.run("abstention", hiding, "--format", "json")
    found = lines(out)
    for row in labelled_answers.rows:
        claims = [claim["text"] for claim in found[row["id"]]["evaluation"]["claims"]]
        assert (row["id"], len(claims)) == (row["id"], len(row["labels"]["claims"]))
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert sum(summary["vetoes"].values()) == summary["roles"]["claim"] == 73
    assert summary["roles"]["abstention"] == 8


def own_words(claim):
    return re.sub(r"\[[^\]]*\]", "", claim["text"]).strip(" .")


def digits_changed(claim):
    """The words of the note with other numbers; of a quote without any, words that are not in it."""
    changed = re.sub(r"\d", lambda one: str((int(one[0]) + 1) % 10), claim["quote"] or "")
    return changed if changed != (claim["quote"] or "") else own_words(claim)


@pytest.mark.whole
@pytest.mark.parametrize("forge", [own_words, digits_changed])
def test_a_forged_quote_makes_no_claim_supported(labelled_answers, forge):
    out = labelled_answers.run(forge.__name__, labelled_answers.forging(forge), "--format", "json")
    found = lines(out)
    for row in labelled_answers.rows:
        verdicts = [claim["verdict"] for claim in found[row["id"]]["evaluation"]["claims"]]
        said = [claim["verdict"] for claim in row["labels"]["claims"]]
        told = (row["id"], [one == "supported" for one in verdicts])
        assert told == (row["id"], [one == "supported" for one in said])
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert set(summary["verdicts"]) == {"supported", "unverified"}
