"""The second check: a model judges claims that share few words with their source sentences by those alone.

A model is believed only after it has classified the pairs of `judges/trials/second_look.jsonl`.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from pydantic import Field

from gigamind.assets import asset
from gigamind.errors import LlmError
from gigamind.i18n import LANGUAGES, _
from gigamind.judges.asking import OF_THE_REPLY, Asking, PanelMember, PlannedCall, counted
from gigamind.judges.search_qa.passage import Passage
from gigamind.judges.spec import Language, PromptName, load_judge_prompt
from gigamind.llm.client import Asked, Message
from gigamind.prompting.prompts import Prompt
from gigamind.prompting.replies import ModelReply, Most, Quotation

LEAST_BALANCED_ACCURACY = 0.9
"""On the pairs; models below it are not believed. A model of 1.5 billion parameters guesses."""
_LEAST_TOKENS = 20  # minimum of the reply per statement
_PAIRS_A_CALL = 12
_TOKENS = 80  # maximum of the reply per statement


class Look(ModelReply, frozen=True):
    """What the model says about one statement."""

    id: int = Field(description="number of the statement")
    unsaid: Quotation = Field(
        description="the words of the statement that its text does not say; or empty"
    )
    said: bool = Field(description="whether the text, with its heading, says the whole statement")


class LooksReply(ModelReply, frozen=True):
    """A reply about some statements."""

    looks: Annotated[tuple[Look, ...], Most(200)] = Field(description="one for each statement")


@dataclass(frozen=True, slots=True)
class Statement:
    """The input of a second check: a claim, the passage that it rests on, and the question that it answers."""

    text: str
    passage: Passage
    question: str = ""


@dataclass(frozen=True, slots=True)
class Pair(Statement):
    """A statement with a known verdict."""

    said: bool = False


@dataclass(frozen=True, slots=True)
class Trial:
    """How a model classified the pairs: the number of those that state the statement and of those recognised."""

    model: str
    language: Language
    stated: tuple[int, int]
    unstated: tuple[int, int]

    @property
    def balanced_accuracy(self) -> float:
        """In [0, 1]; 0.5 by guessing."""
        return sum(right / total for total, right in (self.stated, self.unstated)) / 2

    @property
    def is_passed(self) -> bool:
        return self.balanced_accuracy >= LEAST_BALANCED_ACCURACY


@dataclass(frozen=True, slots=True)
class SecondLook:
    """The second check in one language; `model` is "" for the one that judges."""

    prompt: Prompt
    language: Language
    model: str
    fingerprint: str

    def messages(self, statements: Sequence[Statement]) -> list[Message]:
        shown = [
            {
                "id": number,
                "statement": statement.text,
                "heading": statement.passage.heading,
                "text": statement.passage.text,
            }
            | ({"question": statement.question} if statement.question else {})
            for number, statement in enumerate(statements, start=1)
        ]
        return self.prompt.render(statements=json.dumps(shown, ensure_ascii=False))

    def trials(self) -> Iterator[Sequence[Pair]]:
        pairs = pairs_in(self.language)
        for start in range(0, len(pairs), _PAIRS_A_CALL):
            yield pairs[start : start + _PAIRS_A_CALL]

    def planned(self, statements: Sequence[Statement]) -> PlannedCall:
        return PlannedCall(
            counted(self.messages(statements), LooksReply.model_json_schema()),
            _LEAST_TOKENS * len(statements),
            _tokens_for(len(statements)),
            what=_("second check of doubtful claims in"),
            model=self.model,
            certain=False,
        )

    async def look(
        self, statements: Sequence[Statement], asking: Asking, member: PanelMember
    ) -> tuple[Trial, Sequence[bool | None]]:
        """Return the trial of the model, and whether each text states its statement; None if not reliable.

        Raises:
            LlmError: the model gave no usable reply.
        """
        looker = replace(member, model=self.model) if self.model else member
        trial = await self._trial(asking, looker.model)
        if not trial.is_passed:
            return trial, [None] * len(statements)
        return trial, await self._answers(statements, asking, looker)

    async def _answers(
        self, statements: Sequence[Statement], asking: Asking, member: PanelMember
    ) -> Sequence[bool | None]:
        reply = await asking.ask(
            self.messages(statements),
            LooksReply,
            fingerprint=self.fingerprint,
            member=member,
            max_tokens=_tokens_for(len(statements)),
        )
        answers: dict[int, list[bool]] = {}
        for look in reply.looks:
            # A reply that lists unsupported words contradicts "said".
            answers.setdefault(look.id, []).append(look.said and not look.unsaid.strip())
        per_statement = (answers.get(number, []) for number in range(1, len(statements) + 1))
        return [given[0] if len(given) == 1 else None for given in per_statement]

    async def _trial(self, asking: Asking, model: str) -> Trial:
        client = asking.models[model]
        trials = _TRIALS.setdefault(client, {})
        if self.fingerprint not in trials:
            trials[self.fingerprint] = asyncio.ensure_future(self._run_trial(asking, model))
        try:
            return await asyncio.shield(trials[self.fingerprint])
        except LlmError:
            trials.pop(self.fingerprint, None)  # the next item tries again
            raise

    async def _run_trial(self, asking: Asking, model: str) -> Trial:
        asking = Asking(asking.models, "second look: pairs", asking.fence_key)
        right = {True: [0, 0], False: [0, 0]}
        for pairs in self.trials():
            try:
                answers = await self._answers(pairs, asking, PanelMember(model))
            except LlmError as error:
                if error.code not in OF_THE_REPLY:
                    raise
                answers = [None] * len(pairs)
            for pair, answer in zip(pairs, answers, strict=True):
                right[pair.said][0] += 1
                right[pair.said][1] += answer is pair.said
        (yes, seen), (no, denied) = right[True], right[False]
        return Trial(model, self.language, (yes, seen), (no, denied))


_TRIALS: WeakKeyDictionary[Asked, dict[str, asyncio.Future[Trial]]] = WeakKeyDictionary()


def load_second_look(name: PromptName, language: Language, model: str) -> SecondLook:
    """Return the second check with this prompt; raises as `load_judge_prompt`."""
    prompt = load_judge_prompt(name, language, ("statements",))
    pairs = [asdict(pair) for pair in pairs_in(language)]
    mark = json.dumps([prompt.fingerprint, language, pairs, LooksReply.model_json_schema()])
    return SecondLook(prompt, language, model, sha256(mark.encode()).hexdigest())


def _tokens_for(statements: int) -> int:
    return 64 + _TOKENS * statements


@cache
def pairs_in(language: Language) -> tuple[Pair, ...]:
    """Return the pairs in one language; half of them are stated by their text."""
    lines = (asset("judges") / "trials" / "second_look.jsonl").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines()]
    own = (row for row in rows if row["language"] == language)
    passages = ((row, Passage(row["heading"], row["text"])) for row in own)
    return tuple(
        Pair(row["statement"], passage, row.get("question", ""), row["said"])
        for row, passage in passages
    )


def known_pair(shown: Mapping[str, Any]) -> Pair | None:
    """Return the pair of a statement as shown to a model; None if it is none."""
    pairs = (pair for language in LANGUAGES for pair in pairs_in(language))
    statement, text = str(shown.get("statement")), str(shown.get("text"))
    return next((p for p in pairs if (p.text, p.passage.text) == (statement, text)), None)
