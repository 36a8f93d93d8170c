"""The second check: a model judges claims that share few words with their source sentences by those alone.

It is believed only if, for the same answer, it refuses the claim with its sentence removed or changed, and canaries,
which no text says.  It is believed only in a run in which it accepts few canaries.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from typing import Annotated, Literal

from pydantic import Field

from gigamind.errors import LlmError
from gigamind.evidence.stated import stated
from gigamind.i18n import _
from gigamind.judges.protocol import OF_THE_REPLY, AnswerCase, Asking, PlannedCall, once
from gigamind.judges.search_qa.passage import Passage, sentences_of
from gigamind.judges.search_qa.words import stems
from gigamind.judges.spec import Language
from gigamind.llm.client import Message
from gigamind.prompting.fences import looks_like_instructions
from gigamind.prompting.prompts import Prompt, included_prompt
from gigamind.prompting.replies import ModelReply, Most, Quotation
from gigamind.records.judged import SecondLookReport
from gigamind.stats.intervals import Estimate

_LEAST_TOKENS = 20  # minimum of the reply per statement
_STATEMENTS_A_CALL = 16
_BESIDE = 2  # sentences of the note on either side of a passage
_FEWEST_WORDS = 3  # of another sentence
_CONTROLS = 1  # part of the fingerprint: how `rows_of` makes its controls
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
    """A claim for the second check, and the passage that it rests on."""

    text: str
    passage: Passage
    question: str = ""
    topic: str = ""  # the heading of the passage or the title of its note
    rest: str = ""  # what its note says next to the passage; "" if nothing
    other: str = ""  # a sentence of the notes about something else; "" if there is none


def statement_of(text: str, passage: Passage, case: AnswerCase) -> Statement:
    """Return the input of a second check, with what the notes say beside its passage."""
    topic, rest, others = passage.heading, "", list[str]()
    for note in case.notes:
        source = stated(note.text)
        start = source.find(passage.said)
        end = start + len(passage.said) if start >= 0 else start
        near: tuple[list[str], list[str]] = ([], [])
        for row in sentences_of(note.text):
            if row.is_prose and not start <= row.span.start < end:
                near[row.span.start >= end].append(row.span.slice(source))
        if start >= 0:
            topic = topic or note.title
            rest = "\n".join([*near[0][-_BESIDE:], *near[1][:_BESIDE]])
        others += (one for part in near for one in part if len(stems(one)) >= _FEWEST_WORDS)
    words = stems(f"{text} {passage.text}")
    other = min(others, key=lambda one: len(words & stems(one)) / len(stems(one)), default="")
    question = "" if looks_like_instructions(case.question) else case.question
    return Statement(text, passage, question, topic, rest, other)


Control = Literal["canary", "counterfactual"]
_NUMBER = re.compile(r"(?<![\d.,])\d+")
_NAME = re.compile(r"(?<=\w )[A-Z]\w{2,}")
_OTHER_NAME = "Quarrington"
_VAGUE: Mapping[Language, str] = {
    "ko": "{topic}에는 경우에 따라 다르게 정하는 점이 있다.",
    "en": "Several points about {topic} are settled case by case.",
}


def rows_of(
    statements: Sequence[Statement], language: Language
) -> Iterator[tuple[Statement, Control | None]]:
    """Yield each statement, followed by those that code made of it or its passage and that no text says."""
    for number, statement in enumerate(statements):
        passage = statement.passage
        yield statement, None
        removed = Passage(passage.heading, statement.rest)
        yield replace(statement, passage=_changed(statement) or removed), "counterfactual"
        wrong = _with_other_number(statement.text, passage.text) or statement.other
        if wrong:
            yield replace(statement, text=wrong), "canary"
        if number == 0 or not wrong:
            vague = _VAGUE[language].format(topic=statement.topic)
            yield replace(statement, text=vague, question=""), "canary"


def _changed(statement: Statement) -> Passage | None:
    """Return the passage with a number or a name of the claim changed; None if they share none."""
    passage = statement.passage
    for pattern in (_NUMBER, _NAME):
        shared = set(pattern.findall(passage.text)).intersection(pattern.findall(statement.text))
        for word in sorted(shared):
            other = _other_number(word, passage.text) if word.isdigit() else _OTHER_NAME
            texts = [_put(pattern, word, other, text) for text in (passage.said, passage.lead)]
            if texts != [passage.said, passage.lead]:
                return replace(passage, said=texts[0], lead=texts[1])
    return None


def _put(pattern: re.Pattern[str], word: str, other: str, text: str) -> str:
    return pattern.sub(lambda match: other if match[0] == word else match[0], text)


def _with_other_number(text: str, near: str) -> str:
    """Return a text with another first number; "" if it has none."""
    match = _NUMBER.search(text)
    return _NUMBER.sub(_other_number(match[0], f"{near} {text}"), text, count=1) if match else ""


def _other_number(digits: str, near: str) -> str:
    numbers = (str(int(digits) + step) for step in count(7))
    return next(number for number in numbers if number not in near)


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

    def planned(self, rows: Sequence[Statement]) -> PlannedCall:
        least, most = _LEAST_TOKENS * len(rows), _tokens_for(len(rows))
        return replace(
            PlannedCall.of(self.messages(rows), LooksReply, least, most),
            what=_("second check of doubtful claims in"),
            model=self.model,
            certain=False,
        )

    def batches(
        self, statements: Sequence[Statement]
    ) -> Iterator[list[tuple[Statement, Control | None]]]:
        """Yield the rows of each request about statements, with their controls; see `rows_of`."""
        for start in range(0, len(statements), _STATEMENTS_A_CALL):
            yield list(rows_of(statements[start : start + _STATEMENTS_A_CALL], self.language))

    async def look(
        self, statements: Sequence[Statement], asking: Asking
    ) -> tuple[SecondLookReport, Sequence[bool | None]]:
        """Return how far to believe the model, and whether each text states its statement; None if not reliable.

        A statement that addresses the judge is not sent. A confirmation counts only if the model refuses the
        counterfactual of the statement and every canary of the answer. Raises LlmError without a usable reply.
        """
        places = [at for at, one in enumerate(statements) if not looks_like_instructions(one.text)]
        confirmed: list[bool | None] = [None] * len(statements)
        canaries: list[bool] = []
        following = iter(places)
        for rows in self.batches([statements[at] for at in places]):
            answers = await self._answers([row for row, _control in rows], asking)
            at = 0
            for (_row, control), answer in zip(rows, answers, strict=True):
                if control is None:
                    at = next(following)
                    confirmed[at] = answer
                elif control == "canary":
                    canaries.append(answer is True)
                elif confirmed[at] and answer is not False:
                    confirmed[at] = None if answer is None else False
        report = SecondLookReport(
            model=self.model or asking.first,
            language=self.language,
            canaries=(len(canaries), sum(canaries)),
            believed=not any(canaries),
        )
        return report, confirmed if report.believed else [None] * len(statements)

    async def _answers(
        self, statements: Sequence[Statement], asking: Asking
    ) -> Sequence[bool | None]:
        try:
            reply = await asking.ask(
                self.messages(statements),
                LooksReply,
                fingerprint=self.fingerprint,
                model=self.model,
                max_tokens=_tokens_for(len(statements)),
            )
        except LlmError as error:
            if error.code not in OF_THE_REPLY:
                raise
            return [None] * len(statements)  # an unusable reply confirms nothing
        looks = once(reply.looks, lambda look: look.id)
        # A reply that lists unsupported words contradicts "said".
        said = {number: look.said and not look.unsaid.strip() for number, look in looks.items()}
        return [said.get(number) for number in range(1, len(statements) + 1)]


def load_second_look(language: Language, model: str) -> SecondLook:
    """Return the second check with its prompt; raises as `load_prompt`."""
    prompt = included_prompt("search_qa_second/v1", language, ("statements",))
    mark = json.dumps([prompt.fingerprint, language, LooksReply.model_json_schema(), _CONTROLS])
    return SecondLook(prompt, language, model, sha256(mark.encode()).hexdigest())


def _tokens_for(statements: int) -> int:
    return 64 + _TOKENS * statements


_MOST_ACCEPTED = 0.1  # share of the canaries of a run, lower end of its interval


def second_looks(looks: Iterable[SecondLookReport | None]) -> Iterator[SecondLookReport]:
    """Yield one report for each model and language: of a run, a model may accept few canaries, of an answer none."""
    by_model: defaultdict[tuple[str, str], list[SecondLookReport]] = defaultdict(list)
    for look in filter(None, looks):
        by_model[look.model, look.language].append(look)
    for _key, own in sorted(by_model.items()):
        made, accepted = (sum(look.canaries[at] for look in own) for at in (0, 1))
        share = Estimate.share(accepted, made)
        ends = None if share.low is None or share.high is None else (share.low, share.high)
        believed = (share.low or 0.0) <= _MOST_ACCEPTED
        changes = {"canaries": (made, accepted), "canary_interval": ends, "believed": believed}
        yield own[0].model_copy(update=changes)
