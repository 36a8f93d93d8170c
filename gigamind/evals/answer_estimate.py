"""What judging a dataset would cost and last, before anything is sent; see `estimate`.

Replies that stand in the store already, and requests that fail, are not known here.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gigamind.evals.answer_case import EvalCase
from gigamind.evals.answer_checklist import ChecklistGate, response_of
from gigamind.evals.answer_prepare import PreparedAnswers
from gigamind.evals.estimate import REPLY_S, Estimate, dollars_of
from gigamind.judges.checklist import ChecklistReply, checklist_messages
from gigamind.judges.search_answer import AnswerReply, answer_messages, load_answer_prompt
from gigamind.judges.search_qa.asking import AnswerCase, Questions
from gigamind.judges.search_qa.cutting import cutting_calls
from gigamind.judges.search_qa.reply import PartsReply, SearchQAReply
from gigamind.judges.search_qa.segments.claims import pieces_of
from gigamind.llm import tokens
from gigamind.llm.client import Message, Request
from gigamind.llm.fences import Source
from gigamind.llm.prices import price_of, read_prices

_KEY = bytes(32)  # prompts are of equal length whatever the key
_LEAST_REPLY, _LEAST_CLAIM = 120, 40  # tokens of the shortest useful reply, and of each claim in it
_LEAST_ANSWER, _LEAST_ITEM = 40, 25
_PARTS = 2  # claims of a sentence that a model cuts, as a rule at most
_UNWRITTEN = "\n".join(f"- claim {number} of an answer" for number in range(1, 7))


@dataclass(frozen=True, slots=True)
class _Call:
    """One request, and tokens of its reply at least and at most."""

    request: Request
    least: int
    most: int


def estimate_answers(prepared: PreparedAnswers) -> list[Estimate]:
    """What the run that was prepared would need: answering, where a model answers, judging, checking.

    Raises:
        InputError: the price file cannot be read.
    """
    options, cases = prepared.options, list(prepared.cases.values())
    models = prepared.judge.asked.models(options)
    found: list[Estimate] = []
    if options.answer_model:
        asked = [call for case in cases for call in _answering(prepared, case)]
        found.append(_estimate(prepared, "answering", options.answer_model, asked))
    cut = [call for case in cases for call in _cutting(prepared, case)]
    if cut:
        asked = _with_fresh(prepared, cut)
        found.append(_estimate(prepared, "cutting the claims of", models[0], asked))
    judged = [call for case in cases for call in _judging(prepared, case)]
    # An adaptive panel may ask fewer.
    seats = _with_fresh(prepared, judged) * prepared.judge.asked.file.repeats
    found += [_estimate(prepared, "judging", model, seats) for model in models]
    if gate := prepared.gate:
        model = options.settings().model
        checked = [call for case in cases for call in _checking(gate, case)]
        again = math.ceil(options.fresh_fraction * len(checked))
        found.append(_estimate(prepared, "checking", model, [*checked, *checked[:again]]))
    return found


def _with_fresh(prepared: PreparedAnswers, calls: Sequence[_Call]) -> list[_Call]:
    """Calls, and those of them that are made a second time."""
    return [*calls, *calls[: math.ceil(prepared.options.fresh_fraction * len(calls))]]


def _estimate(prepared: PreparedAnswers, what: str, model: str, calls: Sequence[_Call]) -> Estimate:
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


def _answering(prepared: PreparedAnswers, case: EvalCase) -> Iterator[_Call]:
    if case.notes:
        prompt = load_answer_prompt(case.prompt_language)
        messages = answer_messages(prompt, case.question, _sources(case), _KEY)
        request = _request(messages, AnswerReply.model_json_schema())
        yield _Call(request, _LEAST_ANSWER, prepared.options.answer_max_tokens)


def _cutting(prepared: PreparedAnswers, case: EvalCase) -> Iterator[_Call]:
    asked = _asked(case)
    if not asked.answer.strip() or not asked.has_context:
        return
    judge = prepared.judge.asked.judge_in(case.prompt_language)
    for messages, sentences in cutting_calls(judge, asked.answer, pieces_of(asked.answer)):
        request = _request(messages, PartsReply.model_json_schema())
        yield _Call(request, _LEAST_CLAIM * sentences, judge.file.tokens_for(sentences))


def _judging(prepared: PreparedAnswers, case: EvalCase) -> Iterator[_Call]:
    asked = _asked(case)
    if not asked.answer.strip() or not asked.has_context:
        return
    judge = prepared.judge.asked.judge_in(case.prompt_language)
    claims = _PARTS if judge.cutting else 1
    questions = Questions(judge, asked, pieces_of(asked.answer), _KEY)
    for place, ids in enumerate(questions.batches()):
        messages = questions.messages(ids, "claims" if place else "whole")
        least = _LEAST_REPLY * (not place) + _LEAST_CLAIM * len(ids)
        request = _request(messages, SearchQAReply.model_json_schema())
        yield _Call(request, least, judge.file.tokens_for(claims * len(ids)))


def _asked(case: EvalCase) -> AnswerCase:
    answer = _UNWRITTEN if case.answer is None else case.answer
    return AnswerCase(case.question, answer, _sources(case))


def _checking(gate: ChecklistGate, case: EvalCase) -> Iterator[_Call]:
    answer = _UNWRITTEN if case.answer is None else case.answer
    if answer.strip():
        judge, items = gate.judge_in(case.prompt_language), gate.checklist.items
        messages = checklist_messages(judge, response_of(gate, case, answer), items, _KEY)
        request = _request(messages, ChecklistReply.model_json_schema())
        yield _Call(request, _LEAST_ITEM * len(items), judge.definition.file.max_tokens)


def _sources(case: EvalCase) -> list[Source]:
    return [Source(note.title, note.text) for note in case.notes]


def _request(messages: Sequence[Message], schema: dict[str, object]) -> Request:
    return Request(tuple(messages), schema, {"max_tokens": 0})
