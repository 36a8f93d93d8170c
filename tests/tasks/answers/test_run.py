"""An evaluation of answers, over real HTTP."""

import pytest
from answer_reply import finding
from command_line import RUN_FILES
from five_answers import EVERY, FORGED, GOOD, ITEMS, LEAVE, SILENT, item, reply
from out_files import items_of, rows_of

from gigamind.errors import DatasetError
from gigamind.evaluation.progress import Quiet
from gigamind.evaluation.shards import unfinished_folder
from gigamind.tasks import evaluate
from gigamind.tasks.answers.judging import AnswerEvaluation
from gigamind.tasks.answers.prepare import prepare_answers


def test_a_run_judges_every_answer_and_says_what_it_found(options, server):
    server.script.extend(EVERY)
    done = evaluate(options())
    items = items_of(done.out)
    told = {name: line["evaluation"] for name, line in items.items()}
    found = {name: one and one["correctness"] for name, one in told.items()}
    assert found == {"good": 1.0, "mixed": 0.5, "forged": 0.0, "silent": None, "alone": None}
    assert told["forged"]["claims"][0]["doubt"] == "quote_changed"
    # The notes answer the question, so to say that they do not is no use, whatever the model says.
    assert (told["silent"]["utility"], told["silent"]["reported_utility"]) == (0.0, 0.9)
    assert told["alone"] is None
    assert items["alone"]["outcome"] == "without_context"
    assert told["good"]["source_coverage"][0]["note_title"] == "휴가 규정"
    # correctness over three, utility over four: (1 + 0.75 + 0.4 + 0) / 4; 0.4 as nothing is proven
    overall = done.summary.overall
    assert overall.answers["correctness"] == pytest.approx(0.5)
    assert overall.answers["utility"] == pytest.approx(0.5375)
    assert overall.intervals["answers.correctness"].n == 3
    counts = done.summary.counts
    assert (counts.answers_total, counts.answers_evaluated, counts.without_context) == (5, 4, 1)
    assert (counts.claims, counts.abstained, counts.unjudged) == (4, 1, 0)
    assert done.summary.verdicts == {"contradicted": 1, "supported": 2, "unverified": 1}
    assert done.summary.confidence == {"high": 1, "low": 1, "medium": 1, "none": 1}
    assert {path.name for path in done.out.iterdir()} == {"attempts.jsonl", *RUN_FILES}
    assert not unfinished_folder(done.out).exists()


def test_the_run_is_held_against_the_labels(options, server):
    server.script.extend(EVERY)
    summary = evaluate(options()).summary
    found_ = summary.agreement
    assert (found_.correctness_error, found_.correctness_n) == (0.0, 1)
    assert (found_.utility_error, found_.utility_n) == (0.0, 2)
    assert (found_.claim_accuracy, found_.claims, found_.claims_unmatched) == (1.0, 2, 1)
    assert (found_.abstention_accuracy, found_.abstentions) == (1.0, 2)


def test_a_label_that_is_no_claim_of_its_answer_is_a_warning_with_its_line(options):
    (warning,) = prepare_answers(options(), Quiet()).warnings
    assert (warning.values["line"], warning.values["text"]) == (2, "없는 말이다.")


def test_what_no_verdict_needs_costs_none_and_is_counted(options, server):
    small = {name: GOOD[name] for name in ("claims", "answerable", "omissions")}
    small = small | {"utility": 75, "correctness": "most", "omissions": "none"}
    server.script.extend([small, *EVERY[1:]])
    done = evaluate(options())
    good = items_of(done.out)["good"]
    told = good["evaluation"]
    assert (told["correctness"], told["utility"], told["reported_correctness"]) == (1.0, 0.75, None)
    assert told["completeness"] is None  # nobody knows what is left out
    lost = ("source_coverage", "grounding_issues", "omissions", "answer_note", "answer_quote")
    lost = (*lost, "utility_reason", "correctness", "summary")
    assert {name: n for name, n in good["unread"].items() if "." not in name} == dict.fromkeys(
        lost, 1
    )
    assert done.summary.llm.unread.items() >= dict.fromkeys(lost, 1).items()
    assert "source\\_coverage: 1" in (done.out / "summary.md").read_text("utf-8")


def test_a_failed_evaluation_leaves_the_answer_and_the_others(options, server):
    bad = reply(finding(1, "supported", 1, LEAVE), finding(1, "not_found"))
    # The second claim of "mixed" is missing, and missing again when it is asked for.
    server.script.extend([GOOD, bad, {"claims": []}, FORGED, SILENT])
    done = evaluate(options())
    mixed = items_of(done.out)["mixed"]
    assert mixed["outcome"] == "unscored"
    assert mixed["code"] == "invalid_output"
    assert mixed["evaluation"] is None
    assert mixed["answer"] == "연차는 15일이다. 장미는 없다."
    (error,) = rows_of(done.out, "errors.jsonl")
    assert (error["kind"], error["id"]) == ("verdict", "mixed")
    assert done.summary.counts.unjudged == 1
    assert done.summary.overall.intervals["answers.correctness"].n == 2


def test_a_dry_run_says_what_would_be_asked_and_sends_nothing(options, server):
    judging, looking = AnswerEvaluation(prepare_answers(options(), Quiet())).estimate()
    assert judging.calls == 4  # "alone" has nothing to be judged by
    # at most one more of each
    assert (looking.calls, looking.tokens[0], looking.usd[0]) == (4, 0, 0.0)
    assert "openai/judge" in looking.what
    assert 0 < judging.usd[0] < judging.usd[1]
    assert not server.seen.bodies


def test_bad_rows_are_told_and_strict_stops_at_them(options, server):
    server.script.extend(EVERY)
    items = [*ITEMS, item("lost", "x", context_notes=[{"path": "no.md"}])]
    done = evaluate(options(items=items))
    assert done.summary.counts.rows_rejected == 1
    assert "answers-6.jsonl:6" in rows_of(done.out, "errors.jsonl")[0]["message"]
    with pytest.raises(DatasetError, match="--strict"):
        evaluate(options(items=items, strict=True))


def test_an_answer_of_too_many_claims_is_unscored_for_good_and_the_others_are_judged(
    options, server, tmp_path
):
    judge = tmp_path / "judge.toml"
    judge.write_text('kind = "search_qa"\nprompt = "search_qa/v2"\nmax_claims = 1\n')
    server.script.extend([GOOD, FORGED, SILENT])
    done = evaluate(options(judge=judge))
    mixed = items_of(done.out)["mixed"]
    assert (mixed["outcome"], mixed["code"]) == ("unscored", "context_too_long")
    (error,) = rows_of(done.out, "errors.jsonl")
    assert error["id"] == "mixed"
    assert done.summary.counts.answers_evaluated == 3
    assert not unfinished_folder(done.out).exists()  # another attempt would change nothing
