"""Where nothing could be judged, a run says why and what to do."""

import json
from contextlib import nullcontext

import pytest

from gigamind.errors import EvaluationError
from gigamind.evaluation.unfinished import unfinished_folder
from gigamind.tasks import evaluate

# Of its requests the server takes the first two, and refuses the third.
REFUSED_HALF_WAY = "openai/judge;fault=401;share=0.5;sid=half-2"


@pytest.mark.parametrize(
    ("items", "checklist", "told"),
    [
        (slice(3), False, "1 of 3 answers have no verdict"),
        (slice(2), True, "2 of 2 checks have no verdict"),
        (slice(3), True, "1 of 3 evaluations and 3 of 3 checks have no verdict"),
    ],
)
def test_what_a_refused_key_left_is_told_of_evaluations_and_of_checks(
    options, server, items, checklist, told, replies, answers
):
    server.script.extend([replies.good, replies.mixed])
    with pytest.raises(EvaluationError, match=rf"^{told}: .*auth_failed.*--resume"):
        evaluate(options(items=answers[items], checklist=checklist, model=REFUSED_HALF_WAY))


@pytest.mark.parametrize(
    ("fault", "code", "way"),
    [
        ("refusal", "refused", "try another --model, or a judge file of your own"),
        ("truncated", "truncated", "with a larger max_tokens"),
        ("missing_field", "invalid_output", "--structured md_json"),
    ],
)
def test_where_every_reply_is_final_another_way_is_named_and_not_to_resume(
    options, fault, code, way, answers
):
    given = options(items=answers[:4], model=f"openai/judge;fault={fault}", checklist=True)
    with pytest.raises(EvaluationError, match="no item could be judged") as caught:
        evaluate(given)
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
def test_where_something_would_be_asked_anew_the_way_is_to_resume(
    options, fault, how, way, answers
):
    given = options(items=answers[:1], model=f"openai/judge;fault={fault}", **how)
    with pytest.raises(EvaluationError, match=way):
        evaluate(given)


@pytest.mark.parametrize(
    ("calls", "way"),
    [
        # Of four replies the first ones are refusals, and the budget leaves the others.
        (1, r"\(budget_exceeded\); what was done is kept, raise the limit and continue it with"),
        (3, r"\(refused\); that is final, and --resume .* would ask about the others only: try"),
    ],
)
def test_the_commonest_error_says_why_nothing_could_be_judged(options, calls, way, answers):
    given = options(items=answers[:4], model="openai/judge;fault=refusal", max_calls=calls)
    with pytest.raises(EvaluationError, match=way):
        evaluate(given)


@pytest.mark.parametrize(
    ("fault", "code", "requests", "advice"),
    [
        (
            "400rf",
            "bad_request",
            8,
            "The model gives no structured output: try --structured md_json.",
        ),
        (
            "missing_field",
            "invalid_output",
            16,  # asked once more each
            "Its reply is not as asked for: try --structured md_json, or a larger model.",
        ),
    ],
)
def test_after_eight_alike_failures_and_no_success_the_others_are_not_asked(
    options, server, fault, code, requests, advice, answers
):
    items = [{**answers[0], "id": f"a{number}"} for number in range(12)]
    model = f"openai/judge;fault={fault}"

    with pytest.raises(EvaluationError, match="no item could be judged: not asked") as caught:
        evaluate(options(items=items[:12], model=model, max_in_flight=1))

    assert server.seen.total == requests
    told = str(caught.value)
    assert f"({code}). {advice}" in told
    assert "mend that and continue it with --resume" in told


@pytest.mark.parametrize(("failing", "stopped"), [(7, False), (8, True)])
def test_seven_failures_before_a_success_stop_nothing_and_a_stopped_run_is_resumed(
    options, server, failing, stopped, replies, answers
):
    items = [{**answers[0], "id": f"a{number}"} for number in range(10)]
    model = f"openai/judge;fault=400rf;times={failing}"
    server.script.extend([replies.good] * 12)
    given = options(items=items, model=model, max_in_flight=1, store_mode="off")

    with pytest.raises(EvaluationError) if stopped else nullcontext():
        evaluate(given)
    assert server.seen.total == (8 if stopped else 10)

    evaluate(given.model_copy(update={"resume": given.out}))
    summary = json.loads((given.out / "summary.json").read_text("utf-8"))
    assert summary["llm"]["outcomes"] == {"scored": 10}
    assert server.seen.total == failing + 10


def test_a_run_without_one_verdict_stands_where_a_part_is_allowed(options, lines):
    done = evaluate(
        options(model="openai/judge;fault=truncated", allow_partial=True, min_coverage=0)
    )
    assert done.summary.llm.outcomes == {"unscored": done.summary.llm.items}
    errors = lines(done.out, "errors.jsonl")
    assert {row["error"] for row in errors} == {"truncated"}
    assert all("raised by a judge file of your own (--judge)" in row["message"] for row in errors)
    count = done.summary.llm.items
    told = f"0 of {count} have a verdict (0.000). no usable reply: {count}."
    text = (done.out / "summary.md").read_text("utf-8")
    assert text.index(f"> {told}\n") < text.index("## Figures")
    page = (done.out / "report.html").read_text("utf-8")
    assert page.index(f"<li>{told}</li>") < page.index("<main>")
    for empty in ("| metric |", "High confidence", "| slice |", "Every claim is supported"):
        assert empty not in text
    for empty in ('id="metrics"', 'id="slices"', "#slices", 'class="sign supported"'):
        assert empty not in page
