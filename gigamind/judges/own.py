"""A judge of answers that a team writes itself: one question to a model an answer, with a reply of its own shape.

Derive from `OwnJudge`, say what is asked and what a reply amounts to, and name the class: `--judge module:Class`.  It
is estimated, booked, resumed, reported, compared, gated and certified like the judges that come with gigamind.
"""

import inspect
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, ClassVar

from pydantic import BaseModel

from gigamind.choices import PromptLanguage
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Quote
from gigamind.judges.asking import Asking, PlannedCall, counted
from gigamind.judges.protocol import KEY, AnswerCase, Judge, Proof, Scale, Verdict, named
from gigamind.judges.quotes import best_proof
from gigamind.judges.spec import LANGUAGES
from gigamind.llm.client import Message
from gigamind.llm.fences import fence
from gigamind.llm.options import ModelOptions
from gigamind.llm.prompts import Prompt, as_json, prompt_of
from gigamind.llm.settings import ModelSettings
from gigamind.metrics.spec import Metric
from gigamind.wording import Language

_GIVEN = ("nonce", "notes", "question", "answer")  # the variables that a prompt may use
_LEAST_REPLY = 30  # tokens


class OwnJudge(Judge[AnswerCase, None]):
    """A judge of answers of a team's own.

    Attributes:
        kind: what run.json calls it.
        prompt: Jinja text by language, with a block `system` and a block `user`; its variables are `nonce` and `notes`
            (the notes in fences that bear it), `question` and `answer` (JSON strings).
        reply: what the model is to answer; the descriptions of its fields are prompt text.  As a `ModelReply` it is
            read leniently: what is marked `Auxiliary` costs no verdict where it cannot be read.
        scales: what it may be certified on; a row of labels has a value in [0, 1] for some of them.
        metrics: a figure for each score that `verdict` gives, of the block "answers".
        min_quote_chars: letters and digits that a quote must have to prove anything.
    """

    prompt: ClassVar[Mapping[Language, str]]
    reply: ClassVar[type[BaseModel]]
    metrics: ClassVar[tuple[Metric, ...]]
    scales: ClassVar[Mapping[str, Scale]]
    temperature: ClassVar[float] = 0.0
    max_tokens: ClassVar[int] = 768
    min_quote_chars: ClassVar[int] = 4

    def __init__(self, language: PromptLanguage = "auto") -> None:
        self._prompts = {
            name: prompt_of(self.prompt[name], f"{self.kind} ({name})", _GIVEN)
            for name in LANGUAGES[language]
            if name in self.prompt
        }

    @abstractmethod
    def verdict(self, case: AnswerCase, reply: Any) -> Verdict[None]:  # noqa: ANN401  of the class `reply`
        """What a reply amounts to: rules are code, the model only observes."""

    def proof(self, case: AnswerCase, note: int, quote: str) -> Proof:
        """Whether a quote stands in a note (its number from 1; 0 is the answer) and proves something."""
        (place,) = align_all([Quote(quote, source_index=note)], case.texts).outcomes
        best, proven = best_proof(place, case.texts, self.min_quote_chars)
        return Proof.of(note, best, proven=proven)

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        return (options.settings().model,)

    def settings(self, settings: ModelSettings) -> ModelSettings:
        return settings.spoken(self.temperature, self.max_tokens, "max_tokens of the judge")

    def fingerprint(self, model: str) -> str:
        """Changes with the source of the class, its prompts, its reply's schema, and the model."""
        parts = [inspect.getsource(type(self)), str(self.reply.model_json_schema()), model]
        parts += [prompt.fingerprint for prompt in self._prompts.values()]
        return sha256("\0".join(parts).encode()).hexdigest()

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self._prompts)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        return tuple(self._prompts.values())

    def planned(self, case: AnswerCase) -> Iterator[PlannedCall]:
        if case.answer.strip():
            request = counted(self._messages(case, KEY), self.reply.model_json_schema())
            yield PlannedCall(request, _LEAST_REPLY, self.max_tokens)

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[None]:
        """A blank answer has no score, and nobody is asked about it."""
        if not case.answer.strip():
            return Verdict({}, None)
        messages = self._messages(case, asking.fence_key)
        mark = self.fingerprint(named(list(asking.models)))
        reply = await asking.ask(messages, self.reply, fingerprint=mark)
        return replace(self.verdict(case, reply), flags=case.flagged)

    def _messages(self, case: AnswerCase, key: bytes) -> list[Message]:
        fenced = fence(case.notes, key)
        prompts = {str(name): prompt for name, prompt in self._prompts.items()}
        prompt = prompts.get(case.language) or next(iter(prompts.values()))
        return prompt.render(
            nonce=fenced.nonce,
            notes=fenced.text,
            question=as_json(case.question),
            answer=as_json(case.answer),
        )
