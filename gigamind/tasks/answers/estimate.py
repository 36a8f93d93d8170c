"""What judging a dataset would cost and last, before anything is sent; see `estimate`.

Replies that stand in the store already, and requests that fail, are not known here.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from gigamind.evaluation.estimate import Estimate, asking, with_fresh
from gigamind.judges.protocol import KEY, AnswerCase, Judge, PlannedCall, counted
from gigamind.tasks.answers.answering import AnswerReply, answer_messages, load_answer_prompt
from gigamind.tasks.answers.case import EvalCase
from gigamind.tasks.answers.prepare import PreparedAnswers

_LEAST_ANSWER = 40  # tokens
_UNWRITTEN = "\n".join(f"- claim {number} of an answer" for number in range(1, 7))


def estimate_answers(prepared: PreparedAnswers) -> list[Estimate]:
    """What the run that was prepared would need: answering, where a model answers, judging, checking.

    Raises:
        InputError: the price file cannot be read, or the cost is limited and the price not known.
    """
    options, judge = prepared.options, prepared.judge.judge
    models = judge.models(options)
    works: list[Estimate] = []

    def add(what: str, model: str, calls: Sequence[PlannedCall], votes: int = 1) -> None:
        answers = f"{what} {len(prepared.cases):,} answers"
        works.append(asking(answers, model, calls, options, (votes, votes)))

    if options.answer_model:
        calls = [call for case in prepared.cases.values() for call in _answering(prepared, case)]
        add("answering", options.answer_model, calls)
    planned = _planned(prepared, judge)
    if first := [call for call in planned if not call.seats]:
        add(first[0].what, models[0], with_fresh(first, options))
    seats = with_fresh([call for call in planned if call.seats], options)
    for model in models:  # an adaptive panel may ask fewer
        add("judging", model, seats, judge.repeats)
    if gate := prepared.gate:
        checks = with_fresh(_planned(prepared, gate.judge), options)
        add("checking", options.settings().model, checks)
    return works


def _planned(prepared: PreparedAnswers, judge: Judge[AnswerCase, Any]) -> list[PlannedCall]:
    answers = (
        case.answered(_UNWRITTEN if case.answer is None else case.answer)
        for case in prepared.cases.values()
    )
    return [call for answer in answers for call in judge.planned(answer)]


def _answering(prepared: PreparedAnswers, case: EvalCase) -> Iterator[PlannedCall]:
    if case.notes:
        prompt = load_answer_prompt(case.prompt_language)
        messages = answer_messages(prompt, case.question, list(case.sources), KEY)
        request = counted(messages, AnswerReply.model_json_schema())
        yield PlannedCall(request, _LEAST_ANSWER, prepared.options.answer_max_tokens)
