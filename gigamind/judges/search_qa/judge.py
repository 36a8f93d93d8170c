"""Judges an answer with a model: from findings about its claims to verdicts and the evaluation.

The sentences of a long answer are split into batches. Sentences without exactly one finding get one more request.

In a second check, a model judges claims that share few words with their source sentences by those sentences alone. A
confirmation counts only if the model also refuses the claim with its sentence removed or changed. It must also refuse
all canaries (false statements) of the answer. If it accepts too many canaries of a run, no confirmation counts.
"""

import asyncio
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, Field

from gigamind.choices import PromptLanguage
from gigamind.errors import LlmError
from gigamind.evidence.stated import stated
from gigamind.i18n import _, or_english
from gigamind.judges.protocol import (
    OF_THE_REPLY,
    AnswerCase,
    Asking,
    LocalisedJudge,
    PlannedCall,
    Verdict,
    once,
)
from gigamind.judges.search_qa.judgement import evaluation_of, silent, verdict_of
from gigamind.judges.search_qa.passage import Passage, sentences_of
from gigamind.judges.search_qa.reply import (
    MOST_CLAIMS,
    RULES,
    ClaimFinding,
    ClaimsReply,
    ProofRules,
    SearchQAReply,
)
from gigamind.judges.search_qa.segments import Piece, claims_of, pieces_of, without_note_names
from gigamind.judges.search_qa.verify import Verifier
from gigamind.judges.search_qa.words import stems
from gigamind.judges.spec import (
    LANGUAGES,
    NO_PANEL,
    Language,
    LlmJudge,
    LlmJudgeFile,
    load_llm_judge,
)
from gigamind.llm.client import Message
from gigamind.llm.settings import ModelOptions
from gigamind.prompting.fences import looks_like_instructions
from gigamind.prompting.prompts import Prompt, as_json
from gigamind.prompting.replies import ModelReply, Most, Quotation
from gigamind.records.judged import ReportedVerdict, SearchQAEvaluation, SecondLookReport
from gigamind.stats.intervals import Estimate

_LEAST_TOKENS = 20  # minimum of the reply per statement
_STATEMENTS_A_CALL = 16
_BESIDE = 2  # sentences of the note on either side of a passage
_FEWEST_WORDS = 3  # of another sentence
_CONTROLS = 1  # part of the fingerprint: how `_rows_of` makes its controls
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
class _Statement:
    """A claim for the second check, and the passage that it rests on."""

    text: str
    passage: Passage
    question: str = ""
    topic: str = ""  # the heading of the passage or the title of its note
    rest: str = ""  # what its note says next to the passage; "" if nothing
    other: str = ""  # a sentence of the notes about something else; "" if there is none


def _statement_of(text: str, passage: Passage, case: AnswerCase) -> _Statement:
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
    return _Statement(text, passage, question, topic, rest, other)


_Control = Literal["canary", "counterfactual"]
_NUMBER = re.compile(r"(?<![\d.,])\d+")
_NAME = re.compile(r"(?<=\w )[A-Z]\w{2,}")
_OTHER_NAME = "Quarrington"
_VAGUE: Mapping[Language, str] = {
    "ko": "{topic}에는 경우에 따라 다르게 정하는 점이 있다.",
    "en": "Several points about {topic} are settled case by case.",
}


def _rows_of(
    statements: Sequence[_Statement], language: Language
) -> Iterator[tuple[_Statement, _Control | None]]:
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
            vague = _VAGUE[or_english(language, _VAGUE)].format(topic=statement.topic)
            yield replace(statement, text=vague, question=""), "canary"


def _changed(statement: _Statement) -> Passage | None:
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
class _SecondLook:
    """The second check in one language; `model` is "" for the one that judges."""

    prompt: Prompt
    language: Language
    model: str
    fingerprint: str

    def messages(self, statements: Sequence[_Statement]) -> list[Message]:
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

    def planned(self, rows: Sequence[_Statement]) -> PlannedCall:
        least, most = _LEAST_TOKENS * len(rows), _tokens_for(len(rows))
        return replace(
            PlannedCall.of(self.messages(rows), LooksReply, least, most),
            what=_("second check of doubtful claims in"),
            model=self.model,
            certain=False,
        )

    def batches(
        self, statements: Sequence[_Statement]
    ) -> Iterator[list[tuple[_Statement, _Control | None]]]:
        """Yield the rows of each request about statements, with their controls; see `_rows_of`."""
        for start in range(0, len(statements), _STATEMENTS_A_CALL):
            yield list(_rows_of(statements[start : start + _STATEMENTS_A_CALL], self.language))

    async def look(
        self, statements: Sequence[_Statement], asking: Asking
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
        self, statements: Sequence[_Statement], asking: Asking
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


def _tokens_for(statements: int) -> int:
    return 64 + _TOKENS * statements


_Reply = TypeVar("_Reply", bound=ClaimsReply)
_Part = Literal["whole", "claims", "again"]
# Variables of the prompts.
_GIVEN = ("nonce", "notes", "question", "answer", "ids", "part", "examples", "emphasis")
_CLAIMS_IN_MAX_TOKENS = 4  # each with about 120 Korean characters of quote


class LabelledExample(BaseModel, extra="forbid", frozen=True):
    """A sentence of a labelled answer, for the prompt; `id` is that of the answer, `source` a sentence of its notes."""

    id: str
    sentence: str
    source: str
    verdict: ReportedVerdict
    reason: str = ""


class SearchQAJudgeFile(LlmJudgeFile, ProofRules):
    """A judge file of kind `search_qa`; prompts from version 3 on use `examples` and `emphasis`."""

    also_hashed = NO_PANEL

    kind: Literal["search_qa"]
    tokens_per_claim: Annotated[int, Field(ge=16, le=2_000)] = 160
    claims_per_call: Annotated[int, Field(ge=1, le=MOST_CLAIMS)] = 24
    max_claims: Annotated[int, Field(ge=1, le=2_000)] = 200
    second_model: Annotated[str, Field(max_length=200)] = ""
    examples: tuple[LabelledExample, ...] = Field((), exclude_if=lambda examples: not examples)
    emphasis: Literal["", "details", "meaning"] = Field("", exclude_if=lambda name: not name)

    def tokens_for(self, claims: int) -> int:
        return self.max_tokens + self.tokens_per_claim * max(0, claims - _CLAIMS_IN_MAX_TOKENS)


@dataclass(frozen=True, slots=True)
class _SearchQAJudge(LlmJudge[SearchQAJudgeFile]):
    """The judge in one language; without `second` no second check."""

    second: _SecondLook | None = None

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        return (self.prompt, self.second.prompt) if self.second else (self.prompt,)


def _load_search_qa_judge(path: Path, language: Language) -> _SearchQAJudge:
    """Return the judge of a file with its prompts in one language; raises as `load_llm_judge`."""
    judge = load_llm_judge(path, language, SearchQAJudgeFile, SearchQAReply, _GIVEN)
    file, second, parts = judge.file, None, [judge.fingerprint, f"rules {RULES}"]
    if file.second_look != "never":
        prompt = Prompt.included("search_qa_second/v1", language, ("statements",))
        made = [prompt.fingerprint, language, LooksReply.model_json_schema(), _CONTROLS]
        mark = sha256(json.dumps(made).encode()).hexdigest()
        second = _SecondLook(prompt, language, file.second_model, mark)
        parts.append(mark)
    return _SearchQAJudge(file, judge.prompt, file.fingerprint_with(*parts), second)


class _Questions:
    """The requests about one answer in pieces: each has all notes and the answer, so that a server may cache them."""

    def __init__(
        self, judge: _SearchQAJudge, case: AnswerCase, pieces: Sequence[Piece], fence_key: bytes
    ) -> None:
        self.claims = claims_of(pieces)
        self._judge, self._case, self._pieces, self._key = judge, case, pieces, fence_key

    def batches(self) -> list[list[int]]:
        """Return the ids of the sentences of each request; the first one also covers the whole answer."""
        size = self._judge.file.claims_per_call
        ids = [claim.id for claim in self.claims]
        return [ids[start : start + size] for start in range(0, max(1, len(ids)), size)]

    def messages(self, ids: Sequence[int], part: _Part) -> list[Message]:
        """Return a request about sentences; the answer is in pieces, without their citations."""
        answer = [
            ({"id": one.id} if one.id else {})
            | {"text": one.text}
            | ({"cites": one.cited} if one.cited else {})
            for one in self._pieces
        ]
        examples = [one.model_dump(exclude={"id"}) for one in self._judge.file.examples]
        return self._judge.prompt.about(
            self._case.notes,
            self._key,
            question=as_json(self._case.question),
            answer=json.dumps(answer, ensure_ascii=False),
            ids=", ".join(str(number) for number in ids) or "-",
            part=part,
            examples=json.dumps(examples, ensure_ascii=False) if examples else "",
            emphasis=self._judge.file.emphasis,
        )

    async def _reply(self, asking: Asking) -> SearchQAReply:
        """Return the model's reply about the whole answer, with one finding for each sentence in order."""

        async def ask(ids: Sequence[int], part: _Part, reply: type[_Reply]) -> _Reply:
            return await asking.ask(
                self.messages(ids, part),
                reply,
                fingerprint=self._judge.fingerprint,
                max_tokens=self._judge.file.tokens_for(len(ids)),
            )

        findings: dict[int, ClaimFinding] = {}

        def missing(ids: Sequence[int], reply: ClaimsReply) -> list[int]:
            given = once(reply.claims, lambda finding: finding.id)
            findings.update((number, given[number]) for number in ids if number in given)
            return [number for number in ids if number not in findings]

        first, *others = self.batches()
        whole = await ask(first, "whole", SearchQAReply)
        for batch in (first, *others):
            reply = whole if batch is first else await ask(batch, "claims", ClaimsReply)
            left = missing(batch, reply)
            if left and (lost := missing(left, await ask(left, "again", ClaimsReply))):
                raise LlmError(
                    "The judge model gave no verdict or several verdicts on the answer's sentences with these"
                    " numbers: {sentences}.",
                    "invalid_output",
                    sentences=lost,
                )
        return whole.model_copy(update={"claims": tuple(findings[one.id] for one in self.claims)})

    async def evaluation(self, asking: Asking) -> SearchQAEvaluation:
        """Return the evaluation by the model; raises as `Asking.ask`."""
        case, second = self._case, self._judge.second
        verifier = Verifier(case, self._judge.file)
        if not case.answer.strip():
            return silent(verifier)
        reply = await self._reply(asking)
        # Aligning quotes with a long note takes time; a thread lets other requests continue.
        judged = await asyncio.to_thread(verifier.judge, self.claims, reply.claims)
        look, confirmed = None, dict[int, bool | None]()
        statements = {
            claim.claim.id: _statement_of(without_note_names(claim.stated), claim.passage, case)
            for claim in verifier.for_second_look(judged)
            if second and claim.passage
        }
        if second and statements:
            look, answers = await second.look(list(statements.values()), asking)
            confirmed = dict(zip(statements, answers, strict=True))
        checked = verifier.with_second_look(judged, confirmed)
        found = await asyncio.to_thread(evaluation_of, self._pieces, verifier, reply, checked)
        return found.model_copy(update={"second_look": look})


def refuse_too_many(pieces: Sequence[Piece], most: int) -> None:
    """Raise LlmError (`context_too_long`) if an answer has more than `most` claims."""
    if (claims := len(claims_of(pieces))) > most:
        raise LlmError(
            "The answer has {n:,} claims, but the judge accepts at most {limit:,}. Split the answer, or increase"
            " max_claims in the judge file.",
            "context_too_long",
            n=claims,
            limit=most,
        )


# Minimum tokens of a reply, and of each claim in it.
_LEAST_REPLY, _LEAST_CLAIM = 120, 40
_DOUBTFUL = 0.34  # share of an answer's claims, for estimates


class SearchQA(LocalisedJudge[AnswerCase, SearchQAEvaluation | None, _SearchQAJudge]):
    """The judge of kind `search_qa`: is every claim of an answer grounded in its notes, and does the answer help?"""

    kind = "search_qa"
    scales: ClassVar = {
        "correctness": "graded",
        "completeness": "graded",
        "utility": "graded",
        "supported": "binary",
    }

    def looking_once(self) -> "SearchQA":
        """Return the judge without second checks: doubtful claims stay unverified."""
        judges = self.by_language.items()
        return SearchQA({language: replace(judge, second=None) for language, judge in judges})

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        own, second = super().models(options), self.judge_in("").second
        return tuple(dict.fromkeys((*own, second.model))) if second and second.model else own

    def planned(self, case: AnswerCase) -> Iterator[PlannedCall]:
        if not case.answer.strip() or not case.has_context:
            return
        judge, pieces = self.judge_in(case.language), pieces_of(case.answer)
        questions = _Questions(judge, case, pieces, b"")
        for place, ids in enumerate(questions.batches()):
            messages = questions.messages(ids, "claims" if place else "whole")
            yield PlannedCall.of(
                messages,
                SearchQAReply,
                _LEAST_REPLY * (not place) + _LEAST_CLAIM * len(ids),
                judge.file.tokens_for(len(ids)),
            )
        if judge.second and questions.claims:
            doubtful = [
                _statement_of(claim.text, Passage("", claim.text), case)
                for claim in questions.claims[: math.ceil(_DOUBTFUL * len(questions.claims))]
            ]
            for rows in judge.second.batches(doubtful):
                yield judge.second.planned([row for row, _control in rows])

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[SearchQAEvaluation | None]:
        """Judge an answer; raise LlmError with too many claims or without a usable reply."""
        if not case.has_context:
            return Verdict({}, None)
        judge, pieces = self.judge_in(case.language), pieces_of(case.answer)
        refuse_too_many(pieces, judge.file.max_claims)
        return verdict_of(
            await _Questions(judge, case, pieces, asking.fence_key).evaluation(asking)
        )

    @classmethod
    def load(cls, path: Path, language: PromptLanguage = "auto") -> Self:
        """Return the judge of a file of kind `search_qa`; raises as `load_llm_judge`."""
        return cls({name: _load_search_qa_judge(path, name) for name in LANGUAGES[language]})


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
