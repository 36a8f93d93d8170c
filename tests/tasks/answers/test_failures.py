"""Where nothing could be judged, a run says why and what to do."""

import json
from contextlib import nullcontext

import pytest
from five_answers import GOOD, ITEMS, MIXED
from out_files import rows_of

from gigamind.errors import EvaluationError
from gigamind.evaluation.shards import unfinished_folder
from gigamind.reports.document import Banner
from gigamind.tasks import evaluate

# Of its requests the server takes the first two, and refuses the third.
REFUSED_HALF_WAY = "openai/judge;fault=401;share=0.5;sid=half-2"


@pytest.mark.parametrize(
    ("items", "checklist", "counts"),
    [
        (slice(3), False, "1 of 3 "),
        (slice(2), True, "2 of 2 "),
        (slice(3), True, "1 of 3 .*3 of 3 "),
    ],
)
def test_what_a_refused_key_left_is_told_of_evaluations_and_of_checks(
    options, server, items, checklist, counts
):
    server.script.extend([GOOD, MIXED])
    with pytest.raises(EvaluationError, match=rf"{counts}.*auth_failed.*--resume"):
        evaluate(options(items=ITEMS[items], checklist=checklist, model=REFUSED_HALF_WAY))


@pytest.mark.parametrize(
    ("fault", "code", "way"),
    [
        ("refusal", "refused", "--model"),
        ("truncated", "truncated", "max_tokens"),
        ("missing_field", "invalid_output", "--structured md_json"),
    ],
)
def test_where_every_reply_is_final_another_way_is_named_and_not_to_resume(
    options, fault, code, way
):
    given = options(items=ITEMS[:4], model=f"openai/judge;fault={fault}", checklist=True)
    with pytest.raises(EvaluationError) as caught:
        evaluate(given)
    error = str(caught.value)
    assert f"({code})" in error
    assert way in error
    assert str(unfinished_folder(given.out) / "attempts.jsonl") in error


@pytest.mark.parametrize(
    ("fault", "how", "way"),
    [
        ("401", {}, r"\(auth_failed\).*--resume"),
        ("500", {}, "--resume"),
        ("401", {"max_calls": 0}, r"\(budget_exceeded\).*--resume"),
        ("401", {"store_mode": "replay"}, "--store-mode"),
    ],
)
@pytest.mark.usefixtures("waits")
def test_where_something_would_be_asked_anew_the_way_is_to_resume(options, fault, how, way):
    given = options(items=ITEMS[:1], model=f"openai/judge;fault={fault}", **how)
    with pytest.raises(EvaluationError, match=way):
        evaluate(given)


@pytest.mark.parametrize(
    ("calls", "way"),
    [
        # Of four replies the first ones are refusals, and the budget leaves the others.
        (1, r"\(budget_exceeded\)"),
        (3, r"\(refused\)"),
    ],
)
def test_the_commonest_error_says_why_nothing_could_be_judged(options, calls, way):
    given = options(items=ITEMS[:4], model="openai/judge;fault=refusal", max_calls=calls)
    with pytest.raises(EvaluationError, match=way):
        evaluate(given)


@pytest.mark.parametrize(
    ("fault", "code", "requests"),
    [("400rf", "bad_request", 8), ("missing_field", "invalid_output", 16)],  # 16: each is retried
)
def test_after_eight_alike_failures_and_no_success_the_others_are_not_asked(
    options, server, fault, code, requests
):
    items = [{**ITEMS[0], "id": f"a{number}"} for number in range(12)]
    model = f"openai/judge;fault={fault}"

    with pytest.raises(EvaluationError, match=rf"\({code}\).*--structured md_json.*--resume"):
        evaluate(options(items=items[:12], model=model, max_in_flight=1))

    assert server.seen.total == requests


@pytest.mark.parametrize(("failing", "stopped"), [(7, False), (8, True)])
def test_seven_failures_before_a_success_stop_nothing_and_a_stopped_run_is_resumed(
    options, server, failing, stopped
):
    items = [{**ITEMS[0], "id": f"a{number}"} for number in range(10)]
    model = f"openai/judge;fault=400rf;times={failing}"
    server.script.extend([GOOD] * 12)
    given = options(items=items, model=model, max_in_flight=1, store_mode="off")

    with pytest.raises(EvaluationError) if stopped else nullcontext():
        evaluate(given)
    assert server.seen.total == (8 if stopped else 10)

    evaluate(given.model_copy(update={"resume": given.out}))
    summary = json.loads((given.out / "summary.json").read_text("utf-8"))
    assert summary["llm"]["outcomes"] == {"scored": 10}
    assert server.seen.total == failing + 10


def test_a_run_without_one_verdict_stands_where_a_part_is_allowed(options):
    done = evaluate(
        options(model="openai/judge;fault=truncated", allow_partial=True, min_coverage=0)
    )
    assert done.summary.llm.outcomes == {"unscored": done.summary.llm.items}
    errors = rows_of(done.out, "errors.jsonl")
    assert {row["error"] for row in errors} == {"truncated"}
    assert all("--judge" in row["message"] for row in errors)
    count = done.summary.llm.items
    text = (done.out / "summary.md").read_text("utf-8")
    page = (done.out / "report.html").read_text("utf-8")
    assert isinstance(done.page.verdict, Banner)
    for first in (text.partition("\n## ")[0], page.partition("<main>")[0]):
        assert f"{count} of {count}" in first
    for empty in ("| metric |", "| slice |"):
        assert empty not in text
    for empty in ('id="metrics"', 'id="slices"', "#slices", 'class="sign supported"'):
        assert empty not in page
