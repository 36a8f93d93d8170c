"""What judging a dataset would cost and last, before anything is sent; see `estimate`.

Replies that stand in the store already, and requests that fail, are not known here.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from gigamind.evaluation.estimate import REPLY_S, Estimate, dollars_of
from gigamind.judges.protocol import KEY, AnswerCase, Judge, PlannedCall, counted
from gigamind.llm import tokens
from gigamind.llm.prices import price_of, read_prices
from gigamind.tasks.answers.answering import AnswerReply, answer_messages, load_answer_prompt
from gigamind.tasks.answers.case import EvalCase
from gigamind.tasks.answers.prepare import PreparedAnswers

_LEAST_ANSWER = 40  # tokens
_UNWRITTEN = "\n".join(f"- claim {number} of an answer" for number in range(1, 7))


def estimate_answers(prepared: PreparedAnswers) -> list[Estimate]:
    """What the run that was prepared would need: answering, where a model answers, judging, checking.

    Raises:
        InputError: the price file cannot be read.
    """
    options, judge = prepared.options, prepared.judge.judge
    models = judge.models(options)
    works: list[Estimate] = []
    if options.answer_model:
        calls = [call for case in prepared.cases.values() for call in _answering(prepared, case)]
        works.append(_estimate(prepared, "answering", options.answer_model, calls))
    planned = _planned(prepared, judge)
    first = [call for call in planned if not call.seats]
    if first:
        works.append(_estimate(prepared, first[0].what, models[0], _with_fresh(prepared, first)))
    # An adaptive panel may ask fewer.
    seats = _with_fresh(prepared, [call for call in planned if call.seats]) * judge.repeats
    works += [_estimate(prepared, "judging", model, seats) for model in models]
    if gate := prepared.gate:
        checks = _with_fresh(prepared, _planned(prepared, gate.judge))
        works.append(_estimate(prepared, "checking", options.settings().model, checks))
    return works


def _planned(prepared: PreparedAnswers, judge: Judge[AnswerCase, Any]) -> list[PlannedCall]:
    answers = (
        case.answered(_UNWRITTEN if case.answer is None else case.answer)
        for case in prepared.cases.values()
    )
    return [call for answer in answers for call in judge.planned(answer)]


def _with_fresh(prepared: PreparedAnswers, calls: Sequence[PlannedCall]) -> list[PlannedCall]:
    """Calls, and those of them that are made a second time."""
    return [*calls, *calls[: math.ceil(prepared.options.fresh_fraction * len(calls))]]


def _estimate(
    prepared: PreparedAnswers, what: str, model: str, calls: Sequence[PlannedCall]
) -> Estimate:
    options = prepared.options
    sent = [tokens.likely(call.request) for call in calls]
    most = [tokens.most(call.request) for call in calls]
    low = (round(0.7 * sum(sent)), sum(call.least for call in calls))
    high = (round(min(sum(most), 1.6 * sum(sent))), sum(call.most for call in calls))
    own = read_prices(options.prices) if options.prices else {}
    rounds = math.ceil(len(calls) / options.max_in_flight)
    return Estimate(
        f"{what} {len(prepared.cases):,} answers with {model}",
        len(calls),
        (sum(low), sum(high)),
        dollars_of(price_of(model, own), [low, high]),
        (rounds * REPLY_S[0], rounds * REPLY_S[1]),
    )


def _answering(prepared: PreparedAnswers, case: EvalCase) -> Iterator[PlannedCall]:
    if case.notes:
        prompt = load_answer_prompt(case.prompt_language)
        messages = answer_messages(prompt, case.question, list(case.sources), KEY)
        request = counted(messages, AnswerReply.model_json_schema())
        yield PlannedCall(request, _LEAST_ANSWER, prepared.options.answer_max_tokens)
