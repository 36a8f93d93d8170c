"""Estimates the cost and duration of judging, without stored replies and failed requests; see `estimate`."""

from collections.abc import Iterator, Sequence
from typing import Any

from gigamind.evaluation.estimate import asking, with_fresh
from gigamind.evaluation.options import ModelRunOptions
from gigamind.evaluation.task import Estimate
from gigamind.i18n import Text, _
from gigamind.judges.asking import PlannedCall, counted
from gigamind.judges.protocol import KEY, AnswerCase, Judge
from gigamind.llm.limiter import Gates
from gigamind.tasks.answers.answering import AnswerReply, answer_messages, load_answer_prompt
from gigamind.tasks.answers.prepared import EvalCase, PreparedAnswers

_MIN_ANSWER = 40  # tokens


def estimate_answers(prepared: PreparedAnswers) -> list[Estimate]:
    """Return estimates (see `asking`) of a prepared run: answering if a model answers, judging, checking."""
    options, judge = prepared.options, prepared.judge.judge
    works: list[Estimate] = []
    gates = Gates()

    def add(
        what: Text,
        model: str,
        calls: Sequence[PlannedCall],
        votes: int = 1,
        reached: ModelRunOptions = options,
    ) -> None:
        work = _("{work} {count:,} answers", work=what, count=len(prepared.cases))
        works.append(asking(work, model, calls, reached, (votes, votes), gates=gates))

    if options.answer_model:
        calls = [call for case in prepared.cases.values() for call in _answering(prepared, case)]
        add(_("generating"), options.answer_model, calls, reached=options.for_answering())
    voters = judge.voters(options)
    by_what: dict[str, list[PlannedCall]] = {}
    for call in _planned(prepared, judge):
        by_what.setdefault(call.what, []).append(call)
    for what, group in by_what.items():
        calls, first = with_fresh(group, options), group[0]
        if first.model:  # every panel member may call it
            add(what, first.model, calls, judge.repeats * len(voters))
            continue
        # An adaptive panel may call fewer.
        for model in voters:
            add(what, model, calls, judge.repeats)
    if gate := prepared.gate:
        checks = with_fresh(_planned(prepared, gate.judge), options)
        add(_("applying the checklist to"), options.settings().model, checks)
    return works


def _planned(prepared: PreparedAnswers, judge: Judge[AnswerCase, Any]) -> list[PlannedCall]:
    by_system = prepared.system is not None
    answers = (case.typical(by_system=by_system) for case in prepared.cases.values())
    return [call for answer in answers for call in judge.planned(answer)]


def _answering(prepared: PreparedAnswers, case: EvalCase) -> Iterator[PlannedCall]:
    if case.notes:
        prompt = load_answer_prompt(case.prompt_language)
        messages = answer_messages(prompt, case.question, list(case.sources), KEY)
        request = counted(messages, AnswerReply)
        yield PlannedCall(request, _MIN_ANSWER, prepared.options.answer_max_tokens)
