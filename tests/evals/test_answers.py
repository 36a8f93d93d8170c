"""An evaluation of answers, over real HTTP."""

import json
import signal

import pytest

from gigamind.errors import DatasetError, EvaluationError, InputError
from gigamind.evals.answer_estimate import estimate_answers
from gigamind.evals.answer_options import read_answer_options
from gigamind.evals.answer_prepare import prepare_answers
from gigamind.evals.answers import evaluate_answers
from gigamind.evals.model_run import unfinished_folder
from gigamind.llm.fake.server import running

MODEL = "openai/judge"
LEAVE = "연차는 입사 첫해에 15일을 준다."
NOTES = {
    "휴가.md": f"---\ntitle: 휴가 규정\n---\n{LEAVE}\n\n반차는 0.5일로 계산한다.\n",
    "garden.md": "The garden has roses and tulips near the gate.\n",
    # BM25 finds nothing in two notes: a word that stands in half of them weighs nothing.
    "parking.md": "Cars stand behind the depot.\n",
    "배포.md": "배포는 금요일에 시작한다.\n",
    "invoices.md": "Invoices are paid on Mondays.\n",
}


@pytest.fixture
def server():
    with running() as fake:
        yield fake


def item(item_id, answer, **changes):
    given = {
        "id": item_id,
        "question": "연차는 며칠?",
        "answer": answer,
        "language": "ko",
        "context_notes": [{"path": "휴가.md"}, {"path": "garden.md"}],
    }
    return given | changes


ITEMS = [
    item(
        "good",
        "연차는 15일이다 [노트 1].",
        labels={
            "correctness": 1.0,
            "utility": 1.0,
            "abstains": False,
            "claims": [{"text": "연차는 15일이다 [노트 1].", "verdict": "supported", "note": 1}],
        },
        tags=["plain"],
    ),
    item(
        "mixed",
        "연차는 15일이다. 장미는 없다.",
        labels={
            "claims": [
                {"text": "장미는 없다.", "verdict": "contradicted"},
                {"text": "없는 말이다.", "verdict": "not_found"},
            ]
        },
    ),
    item("forged", "연차는 20일이다."),
    item("silent", "노트에는 관련 정보가 없습니다.", labels={"abstains": True, "utility": 0.0}),
    item("alone", "연차는 15일이다.", context_notes=[]),
]


def found(number, verdict, note=None, quote=""):
    return {"id": number, "verdict": verdict, "note": note, "quote": quote}


def reply(*claims, **changes):
    given = {
        "claims": list(claims),
        "source_coverage": [],
        "grounding_issues": [],
        "abstains": False,
        "answerable": True,
        "answer_note": 1,
        "answer_quote": LEAVE,
        "utility_reason": "답한다.",
        "utility": 1.0,
        "correctness": 1.0,
        "summary": "요약",
    }
    return given | changes


GOOD = reply(found(1, "supported", 1, LEAVE))
MIXED = reply(
    found(1, "supported", 1, LEAVE),
    found(2, "contradicted", 2, "The garden has roses"),
    utility=0.75,
)
FORGED = reply(found(1, "supported", 1, "연차는 입사 첫해에 20일을 준다."), utility=0.5)
SILENT = reply(abstains=True, utility=0.9)
REPLIES = [GOOD, MIXED, FORGED, SILENT]


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def options(tmp_path, vault, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    prices = tmp_path / "prices.toml"
    prices.write_text(
        f'[models."{MODEL}"]\nprompt = 1\ncompletion = 2\n[models."openai/writer"]\nprompt = 3\ncompletion = 4\n'
    )
    number = 0

    def make(items=ITEMS, **changes):
        nonlocal number
        number += 1
        dataset = tmp_path / f"answers-{len(items)}.jsonl"
        rows = [
            row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in items
        ]
        dataset.write_text("\n".join(rows), encoding="utf-8")
        given = {
            "dataset": dataset,
            "notes": vault,
            "out": tmp_path / f"out-{number}",
            "model": MODEL,
            "api_base": server.url,
            "prices": prices,
            "max_in_flight": 1,
            "cache_dir": tmp_path / "cache",
            "format": "both",
        }
        return read_answer_options(given | changes)

    return make


def lines(folder, name):
    return [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()]


def by_id(folder):
    return {line["id"]: line for line in lines(folder, "per_item.jsonl")}


def test_a_run_judges_every_answer_and_says_what_it_found(options, server):
    server.script.extend(REPLIES)
    done = evaluate_answers(options())
    items = by_id(done.out)
    told = {name: line["evaluation"] for name, line in items.items()}
    assert {name: one and one["correctness"] for name, one in told.items()} == {
        "good": 1.0,
        "mixed": 0.5,
        "forged": 0.0,
        "silent": None,
        "alone": None,
    }
    assert told["forged"]["claims"][0]["doubt"] == "quote_changed"
    # The notes answer the question, so to say that they do not is no use, whatever the model says.
    assert (told["silent"]["utility"], told["silent"]["reported_utility"]) == (0.0, 0.9)
    assert told["alone"] is None
    assert items["alone"]["outcome"] == "scored"
    assert told["good"]["source_coverage"][0]["note_title"] == "휴가 규정"
    # correctness over three, utility over four: (1 + 0.75 + 0.5 + 0) / 4
    overall = done.summary.overall
    assert overall.answers["correctness"] == pytest.approx(0.5)
    assert overall.answers["utility"] == pytest.approx(0.5625)
    assert overall.intervals["answers.correctness"].n == 3
    counts = done.summary.counts
    assert (counts.answers_total, counts.answers_evaluated, counts.without_context) == (5, 4, 1)
    assert (counts.claims, counts.abstained, counts.unjudged) == (4, 1, 0)
    assert done.summary.verdicts == {"contradicted": 1, "supported": 2, "unverified": 1}
    assert done.summary.confidence == {"high": 1, "low": 1, "medium": 1, "none": 1}
    assert {path.name for path in done.out.iterdir()} == {
        "attempts.jsonl",
        "errors.jsonl",
        "per_item.jsonl",
        "report.html",
        "run.json",
        "summary.json",
        "summary.md",
    }
    assert not unfinished_folder(done.out).exists()


def test_the_run_is_held_against_the_labels(options, server):
    server.script.extend(REPLIES)
    summary = evaluate_answers(options()).summary
    found_ = summary.agreement
    assert (found_.correctness_error, found_.correctness_n) == (0.0, 1)
    assert (found_.utility_error, found_.utility_n) == (0.0, 2)
    assert (found_.claim_accuracy, found_.claims, found_.claims_unmatched) == (1.0, 2, 1)
    assert (found_.abstention_accuracy, found_.abstentions) == (1.0, 2)


def test_a_label_that_is_no_claim_of_its_answer_is_a_warning_with_its_line(options):
    (warning,) = prepare_answers(options()).warnings
    assert ':2: field "labels.claims": no claim of the answer reads "없는 말이다."' in warning


def test_a_failed_evaluation_leaves_the_answer_and_the_others(options, server):
    bad = reply(found(1, "supported", 1, LEAVE), found(1, "not_found"))
    # The second claim of "mixed" is missing, and missing again when it is asked for.
    server.script.extend([GOOD, bad, {"claims": []}, FORGED, SILENT])
    done = evaluate_answers(options())
    mixed = by_id(done.out)["mixed"]
    assert (mixed["outcome"], mixed["code"], mixed["evaluation"]) == (
        "unscored",
        "invalid_output",
        None,
    )
    assert mixed["answer"] == "연차는 15일이다. 장미는 없다."
    (error,) = lines(done.out, "errors.jsonl")
    assert (error["kind"], error["id"]) == ("verdict", "mixed")
    assert done.summary.counts.unjudged == 1
    assert done.summary.overall.intervals["answers.correctness"].n == 2


def test_the_budget_stops_a_run_which_is_resumed_without_asking_twice(options, server):
    server.script.extend(REPLIES)
    stopped = options(max_calls=2)
    with pytest.raises(EvaluationError, match="the budget left 2 of 5 answers unjudged"):
        evaluate_answers(stopped)
    assert len(server.seen.bodies) == 2
    again = options(resume=stopped.out, out=None)
    done = evaluate_answers(again)
    assert len(server.seen.bodies) == 4
    assert done.out == stopped.out
    assert done.summary.overall.answers["correctness"] == pytest.approx(0.5)
    assert done.summary.llm.calls == 4


def test_a_run_of_another_dataset_is_not_resumed(options, server):
    server.script.extend(REPLIES)
    stopped = options(max_calls=2, allow_partial=True)
    evaluate_answers(stopped)
    with pytest.raises(InputError, match="these differ: dataset"):
        evaluate_answers(options(items=ITEMS[:4], resume=stopped.out, out=None))


def test_equal_answers_cost_nothing_the_second_time(options, server):
    server.script.extend(REPLIES)
    first = evaluate_answers(options())
    second = evaluate_answers(options())
    assert len(server.seen.bodies) == 4
    assert second.summary.llm.cache_hits == 4
    assert second.summary.overall == first.summary.overall


def test_costs_are_those_of_the_tokens_served(options, server):
    server.script.extend(REPLIES)
    done = evaluate_answers(options())
    served = server.seen.bodies
    assert done.summary.llm.usd == pytest.approx(
        sum(
            row["prompt_tokens"] + 2 * row["completion_tokens"]
            for row in lines(done.out, "attempts.jsonl")
        )
        / 1e6
    )
    assert len(served) == done.summary.llm.calls == 4
    assert list(done.summary.llm.by_role) == [f"judge: {MODEL}"]


def test_a_share_judged_again_tells_what_flips(options, server):
    server.script.extend([GOOD, reply(found(1, "not_found"), utility=0.5)])
    done = evaluate_answers(options(items=ITEMS[:1], fresh_fraction=1.0))
    assert (done.summary.llm.flips.judged_again, done.summary.llm.flips.flipped) == (1, 1)
    assert by_id(done.out)["good"]["evaluation"]["correctness"] == 1.0  # the first counts


def test_a_dry_run_says_what_would_be_asked_and_sends_nothing(options, server):
    (judging,) = estimate_answers(prepare_answers(options()))
    assert judging.calls == 4  # "alone" has nothing to be judged by
    assert 0 < judging.usd[0] < judging.usd[1]
    assert not server.seen.bodies


def test_a_model_answers_queries_from_the_notes_that_search_finds(options, server):
    query = {
        "id": "q1",
        "query": "연차는 며칠을 주나요",
        "answerable": True,
        "expected_notes": ["휴가.md"],
    }
    server.script.extend([{"answer": "연차는 15일입니다 [노트 1]."}, GOOD])
    done = evaluate_answers(
        options(items=[query], answer_model="openai/writer", mode="keyword", context_notes=1)
    )
    line = by_id(done.out)["q1"]
    assert line["answer"] == "연차는 15일입니다 [노트 1]."
    assert [note["path"] for note in line["notes"]] == ["휴가.md"]
    assert line["metrics"]["correctness"] == 1.0
    assert line["metrics"]["context_utilisation"] == 1.0
    first = server.seen.bodies[0]["messages"]
    assert "[노트 1]" in first[0]["content"]
    assert LEAVE in first[1]["content"]
    assert list(done.summary.llm.by_role) == ["answer: openai/writer", f"judge: {MODEL}"]


def test_an_answer_that_was_paid_for_survives_its_failed_evaluation(options, server):
    query = {"id": "q1", "query": "연차", "answerable": True, "expected_notes": ["휴가.md"]}
    other = {"id": "q2", "query": "roses", "answerable": True, "expected_notes": ["garden.md"]}
    told = {"answer": "연차는 15일입니다 [노트 1]."}
    server.script.extend([told, reply(), {"claims": []}, told, GOOD])
    done = evaluate_answers(
        options(items=[query, other], answer_model="openai/writer", mode="keyword", context_notes=1)
    )
    line = by_id(done.out)["q1"]
    assert (line["answer"], line["outcome"], line["evaluation"]) == (
        told["answer"],
        "unscored",
        None,
    )
    assert done.summary.llm.outcomes == {"scored": 1, "unscored": 1}


def test_answering_needs_a_vault(options):
    with pytest.raises(InputError, match="--answer-model: needs --notes"):
        evaluate_answers(options(answer_model="openai/writer", notes=None))


def test_judging_needs_a_model(options):
    with pytest.raises(InputError, match="--model: must be given"):
        evaluate_answers(options(model=None))


def test_bad_rows_are_told_and_strict_stops_at_them(options, server):
    server.script.extend(REPLIES)
    items = [*ITEMS, item("lost", "x", context_notes=[{"path": "no.md"}])]
    done = evaluate_answers(options(items=items))
    assert done.summary.counts.rows_rejected == 1
    assert "answers-6.jsonl:6" in lines(done.out, "errors.jsonl")[0]["message"]
    with pytest.raises(DatasetError, match="--strict is set"):
        evaluate_answers(options(items=items, strict=True))


def test_a_worse_run_is_seen_by_comparison_and_gate(options, server):
    server.script.extend(REPLIES)
    first = evaluate_answers(options(save_snapshot=True))
    worse = reply(found(1, "not_found"), utility=0.0)
    server.script.extend([worse, MIXED, FORGED, SILENT])
    second = evaluate_answers(options(compare=first.out, store_mode="refresh"))
    comparison = second.verdict.comparison
    change = comparison.metric("answers.correctness")
    assert change.difference == pytest.approx(-1 / 3)
    assert [(one.id, one.change) for one in comparison.changes] == [("good", "worse")]
    assert "no longer supported" in comparison.changes[0].what
    rules = {rule.metric: rule.status for rule in second.verdict.gate.rules}
    # Three answers can never tell a drop from chance.
    assert rules["answers.correctness"] == "inconclusive"
    assert "search.mrr" not in rules


def test_runs_by_different_models_are_not_compared(options, server):
    server.script.extend(REPLIES)
    first = evaluate_answers(options(save_snapshot=True))
    server.script.extend(REPLIES)
    second = evaluate_answers(options(compare=first.out, model="openai/writer"))
    assert second.verdict.gate.verdict == "not-comparable"


def checks(*items, **quotes):
    """A checklist's reply: a yes with its quote for each item named, a no for the others."""
    names = items or ("direct", "grounded", "sources", "uncertainty")
    given = [(name, quotes.get(name, "")) for name in names]
    return {"items": [{"id": name, "yes": bool(q), "quote": q} for name, q in given]}


PASSING = checks(direct="연차는 15일이다", grounded=LEAVE, sources="[노트 1]")
FAILING = checks(direct="연차는 15일이다", grounded="연차는 없다고 한다.")


def test_the_checklist_judges_each_answer_besides(options, server):
    server.script.extend([*REPLIES, PASSING, FAILING, *[checks()] * 3])
    done = evaluate_answers(options(checklist=True))
    items = by_id(done.out)
    good = items["good"]["quality"]
    assert (good["passed"], good["ratio"]) == (True, 0.75)
    assert good["items"][1] == {
        "id": "grounded",
        "text": "검색 결과를 근거로 활용했는가?",
        "yes": True,
        "told": True,
        "quote": LEAVE,
        "trusted": True,
        "source": 1,
        "flipped": None,
    }
    unproven = items["mixed"]["quality"]["items"][1]
    assert (unproven["yes"], unproven["told"], unproven["trusted"]) == (False, True, False)
    assert items["alone"]["quality"]["passed"] is False  # checked without notes, too
    assert items["alone"]["evaluation"] is None
    block = done.summary.quality
    assert (block.feature, block.min_pass_ratio, block.unchecked) == ("search_qa", 0.75, 0)
    assert (block.overall.checked, block.overall.passed, block.overall.pass_rate) == (5, 1, 0.2)
    # Wilson: (0.2 + z²/10 -+ z sqrt(0.16/5 + z²/100)) / (1 + z²/5) with z² = 3.8415
    assert block.overall.low == pytest.approx(0.0362, abs=5e-4)
    assert block.overall.high == pytest.approx(0.6245, abs=5e-4)
    direct, grounded, *_ = block.by_language["ko"].items
    assert (direct.yes, direct.rate, direct.unproven) == (2, 0.4, 0)
    assert (grounded.yes, grounded.unproven) == (1, 1)
    assert list(done.summary.llm.by_role) == [f"judge: {MODEL}", f"quality_gate: {MODEL}"]
    assert done.summary.overall.answers["correctness"] == pytest.approx(0.5)
    text = (done.out / "summary.md").read_text("utf-8")
    assert "1 of 5 answers pass the checklist of search_qa: at least 75% of its items." in text


def test_a_failed_check_leaves_the_evaluation_and_a_failed_evaluation_the_check(options, server):
    lost = checks("direct")
    # The evaluation of "mixed" fails, the check of "good" does.
    server.script.extend([GOOD, reply(), {"claims": []}, lost, lost, FAILING])
    done = evaluate_answers(options(items=ITEMS[:2], checklist=True))
    items = by_id(done.out)
    assert items["good"]["evaluation"]["correctness"] == 1.0
    assert (items["good"]["quality"], items["good"]["quality_code"]) == (None, "invalid_output")
    assert (items["mixed"]["evaluation"], items["mixed"]["outcome"]) == (None, "unscored")
    assert items["mixed"]["quality"]["ratio"] == 0.25
    errors = lines(done.out, "errors.jsonl")
    assert [(row["id"], row["message"].partition(":")[0]) for row in errors] == [
        ("mixed", "answer mixed"),
        ("good", "checklist of answer good"),
    ]
    assert (done.summary.quality.unchecked, done.summary.counts.unjudged) == (1, 1)


def test_checks_that_the_budget_left_are_made_by_a_resumed_run_and_no_others(options, server):
    server.script.extend([GOOD, MIXED, PASSING, FAILING])
    stopped = options(items=ITEMS[:2], checklist=True, max_calls=3)
    with pytest.raises(EvaluationError, match="the budget left 1 of 2 checks undone"):
        evaluate_answers(stopped)
    assert by_id(stopped.out)["mixed"]["quality_code"] == "budget_exceeded"
    done = evaluate_answers(options(items=ITEMS[:2], checklist=True, resume=stopped.out, out=None))
    assert len(server.seen.bodies) == 4
    assert [line["quality"]["ratio"] for line in by_id(done.out).values()] == [0.75, 0.25]
    assert not unfinished_folder(done.out).exists()


def test_what_the_budget_left_is_told_of_evaluations_and_of_checks(options, server):
    server.script.extend([GOOD])
    stopped = options(items=ITEMS[:2], checklist=True, max_calls=1)
    with pytest.raises(EvaluationError, match="left 1 of 2 evaluations and 2 of 2 checks undone"):
        evaluate_answers(stopped)
    llm = json.loads((stopped.out / "summary.json").read_text("utf-8"))["llm"]
    assert (llm["items"], llm["outcomes"]) == (2, {"scored": 1, "skipped_budget": 1})
    assert (llm["checks"]["items"], llm["checks"]["outcomes"]) == (2, {"skipped_budget": 2})
    text = (stopped.out / "summary.md").read_text("utf-8")
    assert (
        "1 of 2 evaluations have a verdict (left by the budget: 1),"
        " and 0 of 2 checks by the checklist (left by the budget: 2)."
    ) in text
    kinds = [(row["kind"], row["id"]) for row in lines(stopped.out, "errors.jsonl")]
    assert kinds == [("verdict", "mixed"), ("check", "good"), ("check", "mixed")]


# Of its requests the server takes the first two, and refuses the third.
REFUSED_HALF_WAY = "openai/judge;fault=401;share=0.5;sid=half-2"


@pytest.mark.parametrize(
    ("items", "checklist", "told"),
    [
        (ITEMS[:3], False, "1 of 3 answers have no verdict"),
        (ITEMS[:2], True, "2 of 2 checks have no verdict"),
        (ITEMS[:3], True, "1 of 3 evaluations and 3 of 3 checks have no verdict"),
    ],
)
def test_what_a_refused_key_left_is_told_of_evaluations_and_of_checks(
    options, server, items, checklist, told
):
    server.script.extend([GOOD, MIXED])
    with pytest.raises(EvaluationError, match=rf"^{told}: .*auth_failed.*--resume"):
        evaluate_answers(options(items=items, checklist=checklist, model=REFUSED_HALF_WAY))


def test_the_share_that_is_judged_again_is_checked_again_and_flips_are_told_apart(options, server):
    """Of "good" the evaluation stays and the check falls; of "mixed" it is the other way round."""
    again = reply(found(1, "not_found"), found(2, "not_found"), utility=0.75)
    server.script.extend([GOOD, GOOD, MIXED, again, PASSING, FAILING, FAILING, FAILING])
    done = evaluate_answers(options(items=ITEMS[:2], checklist=True, fresh_fraction=1.0))
    assert not server.script
    assert [line["flipped"] for line in by_id(done.out).values()] == [False, True]
    checked = [line["quality"] for line in by_id(done.out).values()]
    assert [(one["passed"], one["flipped"]) for one in checked] == [(True, True), (False, False)]
    assert {one["id"]: one["flipped"] for one in checked[0]["items"]} == {
        "direct": False,
        "grounded": True,
        "sources": True,
        "uncertainty": False,
    }
    llm = done.summary.llm
    assert (llm.flips.judged_again, llm.flips.flipped) == (2, 1)
    assert (llm.checks.flips.judged_again, llm.checks.flips.flipped) == (2, 1)
    assert done.summary.quality.overall.pass_rate == 0.5  # the first check counts
    text = (done.out / "summary.md").read_text("utf-8")
    assert "Evaluated a second time: 1 of 2 verdicts changed (0.500," in text
    told = "Checked a second time: 1 of 2 answers changed between passing the checklist and not"
    assert told in text
    assert told in (done.out / "report.html").read_text("utf-8")


def test_the_same_answers_are_judged_and_checked_again(options, server):
    alike = [item(f"q{i}", ITEMS[0]["answer"], question=f"{i}년 차는 며칠?") for i in range(5)]
    server.script.extend([*[GOOD] * 7, *[PASSING] * 7])
    done = evaluate_answers(options(items=alike, checklist=True, fresh_fraction=0.4))
    items = by_id(done.out).values()
    judged = [line["id"] for line in items if line["flipped"] is not None]
    checked = [line["id"] for line in items if line["quality"]["flipped"] is not None]
    assert len(judged) == 2
    assert checked == judged


def test_a_second_verdict_that_cannot_be_had_is_a_flip_and_the_first_counts(options, server):
    short = checks("direct")
    server.script.extend([GOOD, reply(), {"claims": []}])
    server.script.extend([PASSING, short, short])
    done = evaluate_answers(options(items=ITEMS[:1], checklist=True, fresh_fraction=1.0))
    line = by_id(done.out)["good"]
    assert (line["evaluation"]["correctness"], line["flipped"]) == (1.0, True)
    assert (line["quality"]["passed"], line["quality"]["flipped"]) == (True, True)
    assert lines(done.out, "errors.jsonl") == []


def test_a_second_check_that_the_budget_left_is_made_by_a_resumed_run(options, server):
    server.script.extend([GOOD, GOOD, PASSING, FAILING])
    how = {"items": ITEMS[:1], "checklist": True, "fresh_fraction": 1.0}
    stopped = options(**how, max_calls=3)
    with pytest.raises(EvaluationError, match="the budget left 1 of 1 checks undone"):
        evaluate_answers(stopped)
    done = evaluate_answers(options(**how, resume=stopped.out, out=None))
    assert len(server.seen.bodies) == 4  # the first check comes from the store
    assert done.summary.llm.checks.flips.flipped == 1


def test_a_blank_answer_is_not_asked_about_again(options, server):
    server.script.extend([GOOD])
    blank = item("blank", " ")
    done = evaluate_answers(options(items=[blank], checklist=True, fresh_fraction=1.0))
    assert by_id(done.out)["blank"]["quality"]["flipped"] is None
    assert done.summary.llm.checks.flips is None


def test_checks_are_compared_with_those_of_the_baseline(options, server):
    both = [ITEMS[0], item("second", ITEMS[0]["answer"], question="연차는 얼마나?")]
    server.script.extend([GOOD, GOOD, PASSING, PASSING])
    first = evaluate_answers(options(items=both, checklist=True, save_snapshot=True))
    server.script.extend([GOOD, GOOD, PASSING, FAILING])
    how = {"items": both, "checklist": True, "store_mode": "refresh"}
    second = evaluate_answers(options(**how, compare=first.out / "snapshot.json"))
    comparison = second.verdict.comparison
    change = comparison.metric("quality.pass_rate")
    assert (change.baseline, change.current, change.worse) == (1.0, 0.5, 1)
    assert [(one.id, one.change) for one in comparison.changes] == [("second", "worse")]
    # Two answers can never tell a drop from chance.
    found_ = {rule.metric: rule.status for rule in second.verdict.gate.rules}
    assert (found_["quality.pass_rate"], found_["checks"]) == ("inconclusive", "passed")
    page = (second.out / "report.html").read_text("utf-8")
    assert "checklist passed" in page
    unchecked = evaluate_answers(options(items=both, compare=first.out))
    (mismatch,) = unchecked.verdict.comparison.mismatches
    assert mismatch.what == "checklist"
    assert unchecked.verdict.comparison.metric("answers.correctness").n == 2


def test_checks_of_another_feature_are_not_compared(options, server):
    server.script.extend([GOOD, PASSING])
    first = evaluate_answers(options(items=ITEMS[:1], checklist=True))
    server.script.append(checks("beyond", "grounded", "concrete", "separate"))
    how = {"checklist": True, "feature": "insight", "compare": first.out}
    second = evaluate_answers(options(items=ITEMS[:1], **how))
    assert second.verdict.comparison.checks == "not-compared"
    assert second.verdict.gate.verdict != "not-comparable"


def test_checks_that_ctrl_c_left_are_told_apart_from_those_that_failed(options, server):
    class Impatient:
        def stage(self, name, done, total):
            if (name, done, total) == ("Checking", 1, 2):
                signal.raise_signal(signal.SIGINT)

    server.script.extend([GOOD, MIXED, PASSING, FAILING])
    done = evaluate_answers(options(items=ITEMS[:2], checklist=True), Impatient())
    quality = done.summary.quality
    assert (quality.overall.checked, quality.unchecked, quality.not_run) == (1, 0, 1)
    assert (done.summary.status, done.summary.counts.not_run) == ("interrupted", 0)
    told = "1 were not checked, for the run was interrupted."
    assert told in (done.out / "summary.md").read_text("utf-8")
    page = (done.out / "report.html").read_text("utf-8")
    assert told in page
    assert "Interrupted: 1 answers were not finished." in page


def test_progress_is_told_of_judging_and_of_checking(options, server):
    class Heard:
        def __init__(self):
            self.last = {}

        def stage(self, name, done, total):
            self.last[name] = (done, total)

    server.script.extend([GOOD, MIXED, PASSING, FAILING])
    heard = Heard()
    evaluate_answers(options(items=ITEMS[:2], checklist=True), heard)
    assert (heard.last["Judging"], heard.last["Checking"]) == ((2, 2), (2, 2))


def test_a_run_without_the_checklist_is_not_resumed_with_it(options, server):
    server.script.extend([GOOD])
    stopped = options(items=ITEMS[:2], max_calls=1, allow_partial=True)
    evaluate_answers(stopped)
    with pytest.raises(InputError, match="these differ: checklist"):
        evaluate_answers(options(items=ITEMS[:2], checklist=True, resume=stopped.out, out=None))


def test_the_second_run_checks_from_the_store(options, server):
    server.script.extend([GOOD, PASSING])
    first = evaluate_answers(options(items=ITEMS[:1], checklist=True))
    second = evaluate_answers(options(items=ITEMS[:1], checklist=True))
    assert len(server.seen.bodies) == 2
    assert second.summary.quality == first.summary.quality


def test_an_answer_that_a_model_gives_is_asked_for_once_then_judged_and_checked(options, server):
    query = {"id": "q1", "query": "연차", "answerable": True, "expected_notes": ["휴가.md"]}
    server.script.extend([{"answer": "연차는 15일이다 [노트 1]."}, GOOD, PASSING])
    done = evaluate_answers(
        options(
            items=[query],
            answer_model="openai/writer",
            mode="keyword",
            context_notes=1,
            checklist=True,
            store_mode="off",
        )
    )
    assert len(server.seen.bodies) == 3
    line = by_id(done.out)["q1"]
    assert (line["answer"], line["quality"]["passed"]) == ("연차는 15일이다 [노트 1].", True)


def test_a_resumed_run_checks_the_very_answer_that_it_judged(options, server):
    query = {"id": "q1", "query": "연차", "answerable": True, "expected_notes": ["휴가.md"]}
    server.script.extend([{"answer": "연차는 15일이다 [노트 1]."}, GOOD, PASSING])
    how = {
        "items": [query],
        "answer_model": "openai/writer",
        "mode": "keyword",
        "context_notes": 1,
        "checklist": True,
        "store_mode": "off",
    }
    stopped = options(**how, max_calls=2, allow_partial=True)
    evaluate_answers(stopped)
    done = evaluate_answers(options(**how, resume=stopped.out, out=None))
    assert len(server.seen.bodies) == 3
    assert by_id(done.out)["q1"]["quality"]["passed"] is True


def test_a_dry_run_counts_a_check_for_each_answer(options):
    judging, checking = estimate_answers(prepare_answers(options(checklist=True)))
    assert (judging.calls, checking.calls) == (4, 5)
    assert checking.what == f"checking 5 answers with {MODEL}"


def test_a_dry_run_counts_what_is_checked_again(options):
    prepared = prepare_answers(options(checklist=True, fresh_fraction=0.5))
    judging, checking = estimate_answers(prepared)
    assert (judging.calls, checking.calls) == (6, 8)  # of 4 and of 5, half again


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"checklist": True, "feature": "chat"},
            'has no feature "chat"; it has insight, search_qa',
        ),
        ({"checklist_judge": "mine.toml"}, "--checklist-judge: is used with --checklist only"),
        ({"feature": "insight"}, "--feature: is used with --checklist only"),
        (
            {"checklist": True, "checklist_judge": "no.toml"},
            "no.toml: the judge file cannot be read",
        ),
    ],
)
def test_a_checklist_that_cannot_be_is_refused_before_anything_is_asked(
    options, server, changes, message
):
    with pytest.raises(InputError, match=message):
        evaluate_answers(options(**changes))
    assert not server.seen.bodies


def test_an_answer_of_too_many_claims_is_unscored_for_good_and_the_others_are_judged(
    options, server, tmp_path
):
    judge = tmp_path / "judge.toml"
    judge.write_text('kind = "search_qa"\nprompt = "search_qa/v1"\nmax_claims = 1\n')
    server.script.extend([GOOD, FORGED, SILENT])
    done = evaluate_answers(options(judge=judge))
    mixed = by_id(done.out)["mixed"]
    assert (mixed["outcome"], mixed["code"]) == ("unscored", "context_too_long")
    (error,) = lines(done.out, "errors.jsonl")
    assert "has 2 claims, and the judge takes 1: split it" in error["message"]
    assert done.summary.counts.answers_evaluated == 3
    assert not unfinished_folder(done.out).exists()  # another attempt would change nothing


@pytest.mark.parametrize(
    ("fault", "code", "way"),
    [
        ("refusal", "refused", "try another --model, or a judge file of your own"),
        ("truncated", "truncated", "with a larger max_tokens"),
        ("missing_field", "invalid_output", "--structured md_json"),
    ],
)
def test_where_every_reply_is_final_another_way_is_named_and_not_to_resume(
    options, fault, code, way
):
    given = options(items=ITEMS[:4], model=f"openai/judge;fault={fault}", checklist=True)
    with pytest.raises(EvaluationError, match="no item could be judged") as caught:
        evaluate_answers(given)
    told = str(caught.value)
    assert f"({code}); that is final, and --resume {given.out} would ask nothing anew: try" in told
    assert way in told
    assert str(unfinished_folder(given.out) / "attempts.jsonl") in told
    assert "continue" not in told


@pytest.mark.parametrize(
    ("fault", "how", "way"),
    [
        ("401", {}, "mend that and continue it with --resume"),
        ("500", {}, "what was done is kept, continue it with --resume"),
        ("401", {"max_calls": 0}, "raise the limit and continue it with --resume"),
        ("401", {"store_mode": "replay"}, r"allow it to ask \(--store-mode\) and continue it"),
    ],
)
def test_where_something_would_be_asked_anew_the_way_is_to_resume(options, fault, how, way):
    given = options(items=ITEMS[:1], model=f"openai/judge;fault={fault}", **how)
    with pytest.raises(EvaluationError, match=way):
        evaluate_answers(given)


@pytest.mark.parametrize(
    ("calls", "way"),
    [
        # Of four replies the first ones are refusals, and the budget leaves the others.
        (1, r"\(budget_exceeded\); what was done is kept, raise the limit and continue it with"),
        (3, r"\(refused\); that is final, and --resume .* would ask about the others only: try"),
    ],
)
def test_the_commonest_error_says_why_nothing_could_be_judged(options, calls, way):
    given = options(items=ITEMS[:4], model="openai/judge;fault=refusal", max_calls=calls)
    with pytest.raises(EvaluationError, match=way):
        evaluate_answers(given)
