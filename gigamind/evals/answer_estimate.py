"""What judging a dataset would cost, before anything is sent: calls, tokens and dollars, between two bounds.

Tokenizers differ by half for Korean, and nobody knows how long a model's replies are: the bounds are apart for that.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from gigamind.evals.answer_case import EvalCase
from gigamind.evals.answer_prepare import PreparedAnswers
from gigamind.judges.search_answer import AnswerReply, answer_messages, load_answer_prompt
from gigamind.judges.search_qa.asking import AnswerCase, Questions
from gigamind.judges.search_qa.reply import SearchQAReply
from gigamind.llm.client import Message, Request, Usage
from gigamind.llm.fences import Source
from gigamind.llm.prices import Price, price_of, read_prices
from gigamind.llm.tokens import likely, most

_KEY = bytes(32)  # prompts are of equal length whatever the key
_LEAST_REPLY, _LEAST_CLAIM = 120, 40  # tokens of the shortest useful reply, and of each claim in it
_LEAST_ANSWER = 40
_CLAIMS_OF_AN_ANSWER = 6  # of one that is not yet written
_PICO = 1e12  # picodollars a dollar


@dataclass(frozen=True, slots=True)
class Estimate:
    """Bounds of a run.

    Attributes:
        usd: None where a model has no known price.
    """

    answers: int
    calls: int
    tokens: tuple[int, int]
    usd: tuple[float, float] | None

    def lines(self) -> list[str]:
        """For people."""
        low, high = self.tokens
        cost = (
            "unknown: no price"
            if self.usd is None
            else f"{self.usd[0]:.4f} - {self.usd[1]:.4f} USD"
        )
        return [
            f"{self.answers} answers ready, nothing was sent",
            f"calls {self.calls}, tokens {low:,} - {high:,}, cost {cost}",
        ]


@dataclass(frozen=True, slots=True)
class _Call:
    """One call: tokens sent and answered, each at least and at most."""

    sent: tuple[int, int]
    answered: tuple[int, int]
    answers: bool = False


def estimate(prepared: PreparedAnswers) -> Estimate:
    """What a run would ask; replies that stand in the store already, and calls that fail, are not known here."""
    calls = [call for case in prepared.cases.values() for call in _calls(prepared, case)]
    bounds = [sum(call.sent[i] + call.answered[i] for call in calls) for i in (0, 1)]
    return Estimate(len(prepared.cases), len(calls), (bounds[0], bounds[1]), _usd(prepared, calls))


def _calls(prepared: PreparedAnswers, case: EvalCase) -> Iterator[_Call]:
    sources = [Source(note.title, note.text) for note in case.notes]
    answer = case.answer
    if answer is None:
        if sources:
            prompt = load_answer_prompt(case.prompt_language)
            messages = answer_messages(prompt, case.question, sources, _KEY)
            room = prepared.options.answer_max_tokens
            yield _Call(
                _sent(messages, AnswerReply.model_json_schema()),
                (_LEAST_ANSWER, room),
                answers=True,
            )
        answer = "\n".join(f"{number}. x" for number in range(_CLAIMS_OF_AN_ANSWER))
    if not answer.strip() or not any(source.text.strip() for source in sources):
        return
    judge = prepared.judge.judge_in(case.prompt_language)
    questions = Questions(judge, AnswerCase(case.question, answer, sources), _KEY)
    for place, ids in enumerate(questions.batches()):
        messages = questions.messages(ids, "claims" if place else "whole")
        least = _LEAST_REPLY * (not place) + _LEAST_CLAIM * len(ids)
        answered = (least, judge.file.tokens_for(len(ids)))
        yield _Call(_sent(messages, SearchQAReply.model_json_schema()), answered)


def _sent(messages: list[Message], schema: dict[str, object]) -> tuple[int, int]:
    request = Request(tuple(messages), schema, {"max_tokens": 0})
    low, high = likely(request), most(request)
    return min(low, high), max(low, high)


def _usd(prepared: PreparedAnswers, calls: list[_Call]) -> tuple[float, float] | None:
    options = prepared.options
    known = read_prices(options.prices) if options.prices else {}
    judging = price_of(options.settings().model, known)
    answering = price_of(options.answer_model, known) if options.answer_model else judging
    if judging is None or answering is None:
        return None
    low, high = (
        sum(_cost(answering if call.answers else judging, call, bound) for call in calls) / _PICO
        for bound in (0, 1)
    )
    return low, high


def _cost(price: Price, call: _Call, bound: int) -> int:
    return price.cost_pico_usd(Usage(call.sent[bound], call.answered[bound]))
