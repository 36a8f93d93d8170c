"""Custom judges of answers: one request to a model per answer, with a custom reply schema, or none at all.

Derive a class from `OwnJudge`, define its prompt and the verdict for a reply, and pass `--judge module:Class`. A class
without a prompt asks no model and costs nothing. Cost estimates, resuming, reports, comparison, gates and certification
work as for the included judges.
"""

import inspect
import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any, ClassVar

from pydantic import BaseModel

from gigamind.choices import PromptLanguage
from gigamind.errors import OWN_FAULTS, EvaluationError, GigamindError, fault_of
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Quote
from gigamind.i18n import Language, _
from gigamind.judges.protocol import AnswerCase, Asking, Judge, PlannedCall, Proof, Scale, Verdict
from gigamind.judges.quotes import best_proof
from gigamind.judges.spec import LANGUAGES
from gigamind.llm.client import Message
from gigamind.llm.settings import ModelOptions, ModelSettings
from gigamind.metrics.spec import Metric
from gigamind.prompting.prompts import Prompt, as_json

_GIVEN = ("nonce", "notes", "question", "answer")  # variables of the prompts
_LEAST_REPLY = 30  # tokens


class OwnJudge(Judge[AnswerCase, None]):
    """A custom judge of answers.

    Attributes:
        kind: its name in run.json.
        prompt: Jinja text by language, with the blocks `system` and `user`; empty for a judge without a model.
            Variables: `nonce`, `notes` (the notes in fences with the nonce), `question` and `answer` (JSON strings).
        reply: schema of the model's reply; the field descriptions are prompt text. A `ModelReply` is read leniently: an
            unreadable field marked `Auxiliary` does not invalidate the verdict.
        scales: scales for certification; a row of labels has a value in [0, 1] for some of them.
        metrics: a metric for each score that `verdict` gives, in the block "answers".
        min_quote_chars: letters and digits that a quote needs to prove anything.
    """

    prompt: ClassVar[Mapping[Language, str]] = {}
    reply: ClassVar[type[BaseModel]]
    metrics: ClassVar[tuple[Metric, ...]]
    scales: ClassVar[Mapping[str, Scale]]
    temperature: ClassVar[float] = 0.0
    max_tokens: ClassVar[int] = 768
    min_quote_chars: ClassVar[int] = 4

    def __init__(self, language: PromptLanguage = "auto") -> None:
        self._prompts = {
            name: Prompt.of(self.prompt[name], f"{self.kind} ({name})", _GIVEN)
            for name in LANGUAGES[language]
            if name in self.prompt
        }

    @abstractmethod
    def verdict(self, case: AnswerCase, reply: Any) -> Verdict[None]:  # noqa: ANN401  of the class `reply`
        """Return the verdict for a reply: rules are code, the model only reports observations.

        The reply is None without a prompt. Then the verdict is stored, so it must depend on nothing but the case and
        what `fingerprint` covers.
        """

    def proof(self, case: AnswerCase, note: int, quote: str) -> Proof:
        """Return whether a quote is in a note (number from 1; 0 is the answer) and proves something."""
        (place,) = align_all([Quote(quote, source_index=note)], case.texts).outcomes
        best, proven = best_proof(place, case.texts, self.min_quote_chars)
        return Proof.of(note, best, proven=proven)

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        return (options.settings().model,) if self.prompt else ()

    def settings(self, settings: ModelSettings) -> ModelSettings:
        return settings.spoken(
            self.temperature, self.max_tokens, _("max_tokens in the class of the judge")
        )

    def fingerprint(self, model: str) -> str:
        """Return a hash of the class's source, its prompts, its reply schema and the model.

        Without a prompt, of its module. Override this if verdicts depend on more, such as a file.
        """
        kind = type(self)
        if self.prompt:
            parts = [inspect.getsource(kind), str(self.reply.model_json_schema()), model]
            parts += [prompt.fingerprint for prompt in self._prompts.values()]
        else:
            parts = [kind.__qualname__, inspect.getsource(sys.modules[kind.__module__])]
        return sha256("\0".join(parts).encode()).hexdigest()

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self._prompts)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        return tuple(self._prompts.values())

    def planned(self, case: AnswerCase) -> Iterator[PlannedCall]:
        if case.answer.strip() and self.prompt:
            messages = self._messages(case, b"")
            yield PlannedCall.of(messages, self.reply, _LEAST_REPLY, self.max_tokens)

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[None]:
        """Judge an answer; a blank answer has no score and needs no request."""
        if not case.answer.strip():
            return Verdict({}, None)
        mark = self.fingerprint(", ".join(asking.models))
        if not self.prompt:
            return await self._free_verdict(case, asking, mark)
        messages = self._messages(case, asking.fence_key)
        reply = await asking.ask(messages, self.reply, fingerprint=mark)
        return replace(self._checked_verdict(case, reply), flags=case.flagged)

    def _checked_verdict(self, case: AnswerCase, reply: Any) -> Verdict[None]:  # noqa: ANN401  of the class `reply`
        try:
            return self.verdict(case, reply)
        except GigamindError:
            raise
        except OWN_FAULTS as error:  # user code may raise anything
            raise EvaluationError(
                "The judge {kind} failed at the question {question!r}: {fault}",
                kind=self.kind,
                question=case.question,
                fault=fault_of(error),
            ) from error

    async def _free_verdict(self, case: AnswerCase, asking: Asking, mark: str) -> Verdict[None]:
        async def make() -> Mapping[str, Any]:
            return asdict(replace(self._checked_verdict(case, None), flags={}))

        record = await asking.stored({"own_judge": mark, "case": asdict(case)}, make)
        proof = tuple(Proof(**own) for own in record["proof"])
        return replace(Verdict(**record), proof=proof, flags=case.flagged)

    def _messages(self, case: AnswerCase, key: bytes) -> list[Message]:
        prompts = self._prompts
        prompt = next(prompts[own] for own in (case.language, "en", *prompts) if own in prompts)
        question, answer = as_json(case.question), as_json(case.answer)
        return prompt.about(case.notes, key, question=question, answer=answer)
