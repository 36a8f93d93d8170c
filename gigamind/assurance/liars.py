"""Judges that lie: scripted models put through the whole chain of a judge of answers, and what they get away with.

Each stands where a model stands, at the seam of `llm.client`, so its replies are parsed, aligned, proven and judged as
a model's are: no network, no cost, the same figures each time.  An honest one says what people labelled: the scale that
the others are read by.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from gigamind.assets import asset
from gigamind.datasets.check_answers import CheckedAnswer, check_answers
from gigamind.datasets.jsonl import read_answers
from gigamind.datasets.schema import AnswerLabels, LabelledClaim, LabelledFact
from gigamind.errors import DatasetError, InputError, LlmError
from gigamind.judges.asking import Asking
from gigamind.judges.protocol import KEY, AnswerCase
from gigamind.judges.search_qa.judge import SearchQA
from gigamind.judges.search_qa.judgement import Judgement
from gigamind.judges.search_qa.numbers import known_numbers, new_numbers
from gigamind.judges.search_qa.reply import (
    ClaimFinding,
    ClaimsReply,
    Omission,
    PartsReply,
    SearchQAReply,
    Told,
    ToldRole,
)
from gigamind.judges.search_qa.second_look import known_pair
from gigamind.judges.search_qa.segments.claims import Claim, claims_of, comparable, pieces_of
from gigamind.llm.ask import LanguageModel
from gigamind.llm.client import Answer, Request
from gigamind.llm.fences import Source
from gigamind.llm.options import ModelOptions
from gigamind.llm.settings import ModelSettings
from gigamind.llm.usage import Usage
from gigamind.records.card import CardLiar, CardLiars
from gigamind.text import tokens
from gigamind.vault.identity import Identities
from gigamind.vault.language import question_language
from gigamind.vault.notes import read_vault

_LETTERS = 20  # letters and digits of a line that is worth pasting
_INVENTED = "Every quarter the parrots sing 77 operas. 분기마다 앵무새가 오페라 77곡을 부른다."


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer, and what people say of it.

    Attributes:
        sentences: those that a model is asked about.
        told: label of each sentence that is a claim to people, by its id.
    """

    id: str
    case: AnswerCase
    sentences: tuple[Claim, ...]
    told: Mapping[int, LabelledClaim]
    labels: AnswerLabels

    @classmethod
    def of(cls, name: str, case: AnswerCase, labels: AnswerLabels) -> "LabelledAnswer":
        """The answer, its sentences matched to the labels by their text."""
        sentences = claims_of(pieces_of(case.answer))
        by_text = {comparable(label.text): label for label in reversed(labels.claims)}
        texts = {claim.id: comparable(claim.piece.text) for claim in sentences}
        labelled = {number: by_text[text] for number, text in texts.items() if text in by_text}
        return cls(name, case, sentences, labelled, labels)


@dataclass(frozen=True, slots=True)
class LabelledAnswers:
    """The labelled answers of a dataset.

    Attributes:
        unlabelled: its answers that have no labels, or no note to judge them by.
    """

    name: str
    sha256: str
    answers: tuple[LabelledAnswer, ...]
    unlabelled: int


def read_labelled_answers(dataset: Path | None, notes: Path | None) -> LabelledAnswers:
    """The labelled answers of a dataset; by default, of the examples that travel with the package.

    Args:
        notes: the vault whose notes the rows name; None where they hold the text of their notes.

    Raises:
        InputError: `notes` without a dataset.
        DatasetError: the dataset cannot be read, a row of it cannot be used, or none has labels.
        NotesError: the vault cannot be read.
    """
    if dataset is None:
        if notes is not None:
            raise InputError("--notes: needs --dataset, the labelled answers whose notes it has")
        dataset, notes = asset("examples") / "answers.jsonl", asset("examples") / "vault"
    read = read_answers(dataset)
    vault = read_vault(notes) if notes else None
    checked = check_answers(read, vault, Identities(vault.notes if vault else ()))
    if checked.errors:
        first = checked.errors[0]
        raise DatasetError(
            f"{dataset}:{first.line}: {first.field}: {first.message}. {first.mend}"
            f" ({checked.rejected} of {checked.rows} rows cannot be used)"
        )
    answers = tuple(_labelled(checked.answers))
    if not answers:
        raise DatasetError(
            f'{dataset}: no answer has "labels", so no lie can be told from the truth'
        )
    return LabelledAnswers(dataset.name, read.sha256, answers, len(checked.answers) - len(answers))


def _labelled(checked: Sequence[CheckedAnswer]) -> Iterator[LabelledAnswer]:
    for row in checked:
        item, notes = row.item, tuple(Source(note.title, note.text) for note in row.notes)
        case = AnswerCase(item.question, row.answer, notes, question_language(item.question))
        if item.labels and case.has_context:
            yield LabelledAnswer.of(item.id, case, item.labels)


def _finding(
    claim: Claim, verdict: Told, note: int | None, quote: str, role: ToldRole = "claim"
) -> ClaimFinding:
    return ClaimFinding(
        id=claim.id, role=role, abstention_quote="", verdict=verdict, note=note, quote=quote
    )


def _let_off(claim: Claim, role: ToldRole) -> ClaimFinding:
    """A sentence that states nothing; of an abstention, all of its words are said to say so."""
    words = claim.piece.text if role == "abstention" else ""
    return _finding(claim, "not_found", None, "", role).model_copy(
        update={"abstention_quote": words}
    )


def _honest(answer: LabelledAnswer, claim: Claim) -> ClaimFinding:
    label = answer.told.get(claim.id)
    if label is not None:
        return _finding(claim, label.verdict, label.note, label.quote or "")
    return _let_off(claim, "abstention" if answer.labels.abstains else "courtesy")


def _credulous(answer: LabelledAnswer, claim: Claim) -> ClaimFinding:
    """What people say, but for what they doubt: that is supported, too, by the line most like it."""
    label = answer.told.get(claim.id)
    if label is None or label.verdict == "supported":
        return _honest(answer, claim)
    words = set(tokens(claim.piece.text))
    lines = [
        (number, line.strip())
        for number, note in enumerate(answer.case.notes, start=1)
        for line in note.text.splitlines()
    ]
    number, line = max(lines, key=lambda pair: len(words.intersection(tokens(pair[1]))))
    return _finding(claim, "supported", number, line)


def _left_out(answer: LabelledAnswer) -> Iterator[Omission]:
    """The labelled facts that no claim gives which people call supported."""
    given = [label for label in answer.told.values() if label.verdict == "supported"]
    for fact in answer.labels.facts:
        for number, note in enumerate(answer.case.notes, start=1):
            if fact.text in note.text and not any(_gives(label, fact) for label in given):
                yield Omission(what=fact.text, note=number, quote=fact.text)
                break


def _gives(claim: LabelledClaim, fact: LabelledFact) -> bool:
    """Whether a claim rests on the words of a fact and has its numbers."""
    quote = claim.quote or ""
    return (fact.text in quote or quote in fact.text) and not new_numbers(
        fact.text, known_numbers(claim.text)
    )


def _pastes_one_line(answer: LabelledAnswer, claim: Claim) -> ClaimFinding:
    lines = answer.case.notes[0].text.splitlines()
    long = [line for line in lines if sum(map(str.isalnum, line)) >= _LETTERS]
    return _finding(claim, "supported", 1, (long or lines or [""])[-1].strip())


def _always_supported(_answer: LabelledAnswer, claim: Claim) -> ClaimFinding:
    """By turns without a quote, and with one that nobody wrote."""
    return _finding(claim, "supported", 1, "" if claim.id % 2 else _INVENTED)


def _no_claims(_answer: LabelledAnswer, claim: Claim) -> ClaimFinding:
    """Each sentence is what it looks most like, but for a claim."""
    text, role = claim.piece.text.rstrip(), "courtesy"
    if claim.piece.shape == "heading":
        role = "heading"
    elif text.endswith(("?", "？")):
        role = "question"
    elif text.endswith((":", "：")):
        role = "lead_in"
    elif claim.piece.cited:
        role = "source"
    return _let_off(claim, role)


def _abstains(_answer: LabelledAnswer, claim: Claim) -> ClaimFinding:
    return _let_off(claim, "abstention")


def _swaps_ids(answer: LabelledAnswer, claim: Claim) -> ClaimFinding:
    """What is true of the next sentence; of the last, what is true of the first."""
    other = answer.sentences[claim.id % len(answer.sentences)]
    return _honest(answer, other).model_copy(update={"id": claim.id})


def _quotes_the_question(answer: LabelledAnswer, claim: Claim) -> ClaimFinding:
    """By turns the question, and the sentence itself."""
    return _finding(
        claim, "supported", 1, answer.case.question if claim.id % 2 else claim.piece.text
    )


@dataclass(frozen=True, slots=True)
class Liar:
    """A scripted judge.

    Attributes:
        finding: what it says of a sentence.
        is_honest: it says what people say of the whole and of what is left out, and when it is asked again; a liar
            praises every answer, and says yes to whatever it is asked again.
        knows_pairs: it tells apart the pairs that a second look is tried with, so that its yes to the rest is believed.
    """

    name: str
    finding: Callable[[LabelledAnswer, Claim], ClaimFinding]
    is_honest: bool = False
    knows_pairs: bool = False

    def reply(self, answer: LabelledAnswer) -> SearchQAReply:
        """What it says of the whole answer."""
        labels = answer.labels
        untold = self.is_honest and labels.abstains and not labels.utility
        return SearchQAReply(
            claims=tuple(self.finding(answer, claim) for claim in answer.sentences),
            source_coverage=(),
            grounding_issues=(),
            omissions=tuple(_left_out(answer)) if self.is_honest else (),
            answerable=bool(untold),  # that they answer speaks against an abstention alone
            answer_note=None,
            answer_quote="",
            utility_reason="",
            utility=(labels.utility or 0.0) if self.is_honest else 1.0,
            correctness=1.0,
            summary="",
        )

    def says(self, answer: LabelledAnswer, row: Mapping[str, Any]) -> bool:
        """Whether it says yes when it is asked again, about a statement of the answer in a row with other texts."""
        if self.knows_pairs and (pair := known_pair(row)):
            return pair.said
        true = {
            comparable(answer.sentences[number - 1].piece.text)
            for number, label in answer.told.items()
            if label.verdict == "supported"
        }
        return not self.is_honest or not true.isdisjoint(comparable(str(v)) for v in row.values())

    def said(
        self, answer: LabelledAnswer, response_format: Mapping[str, Any], prompt: str
    ) -> dict[str, Any]:
        """A reply about the answer, of the shape that a request asks for."""
        schema: dict[str, Any] = response_format["json_schema"]["schema"]
        fields = schema["properties"].keys()
        if fields == SearchQAReply.told_fields():
            return self.reply(answer).model_dump()
        if fields == ClaimsReply.told_fields():
            return self.reply(answer).model_dump(include={"claims"})
        if fields == PartsReply.told_fields():
            return PartsReply(sentences=()).model_dump()  # uncut: the labels are of sentences
        return self._again(answer, schema, prompt)

    def _again(
        self, answer: LabelledAnswer, schema: Mapping[str, Any], prompt: str
    ) -> dict[str, Any]:
        """A second look at statements in a JSON array: yes or no wherever that is asked of one, and no words."""
        ((name, several),) = schema["properties"].items()
        row = schema["$defs"][several["items"]["$ref"].rpartition("/")[2]]["properties"]
        looks: list[dict[str, Any]] = []
        for statement in _statements(prompt):
            said = self.says(answer, statement)
            looks.append(
                {
                    field: said if of["type"] == "boolean" else statement.get(field, "")
                    for field, of in row.items()
                }
            )
        return {name: looks}


HONEST = Liar("honest", _honest, is_honest=True, knows_pairs=True)
CREDULOUS = Liar("credulous", _credulous, is_honest=True, knows_pairs=True)
LIARS = (
    HONEST,
    CREDULOUS,
    Liar("pastes_one_line", _pastes_one_line),
    Liar("pastes_and_passes", _pastes_one_line, knows_pairs=True),
    Liar("always_supported", _always_supported),
    Liar("no_claims", _no_claims),
    Liar("abstains", _abstains),
    Liar("swaps_ids", _swaps_ids),
    Liar("quotes_the_question", _quotes_the_question),
)


@dataclass(slots=True)
class LyingClient:
    """A model that a liar plays, asked about one answer after the other.

    Attributes:
        answer: the one that it is asked about now.
    """

    liar: Liar
    answer: LabelledAnswer

    async def send(self, request: Request) -> Answer:
        """A reply of the shape that is asked for."""
        prompt = str(request.messages[-1]["content"])
        said = self.liar.said(self.answer, request.response_format or {}, prompt)
        return Answer(json.dumps(said), usage=Usage(0, 0))

    async def close(self) -> None:
        """There is nothing to close."""


def _statements(text: str) -> list[dict[str, Any]]:
    """The first array of objects in a prompt; inside a JSON string it could not be mistaken for one."""
    start = re.search(r'\[\s*\{"', text)
    return json.JSONDecoder().raw_decode(text, start.start())[0] if start else []


async def run_liars(judge: SearchQA, given: LabelledAnswers) -> CardLiars:
    """What each liar gets away with."""
    labels = [label for answer in given.answers for label in answer.told.values()]
    return CardLiars(
        dataset=given.name,
        dataset_hash=given.sha256,
        answers=len(given.answers),
        unlabelled=given.unlabelled,
        claims=len(labels),
        unsupported=sum(label.verdict != "supported" for label in labels),
        correctness=_mean([by_people(answer) for answer in given.answers]),
        utility=_mean([answer.labels.utility for answer in given.answers]),
        liars=tuple([await _tried(judge, liar, given.answers) for liar in LIARS]),
    )


def by_people(answer: LabelledAnswer) -> float | None:
    """The share of its claims that people call supported; None without claims."""
    verdicts = [label.verdict == "supported" for label in answer.told.values()]
    return sum(verdicts) / len(verdicts) if verdicts else None


async def _tried(judge: SearchQA, liar: Liar, answers: Sequence[LabelledAnswer]) -> CardLiar:
    both = list(zip(answers, await judged_by(judge, liar, answers), strict=True))
    scored = [(answer, judgement) for answer, judgement in both if judgement]
    claims = [
        (answer.told[sentence.claim.id], sentence)
        for answer, judgement in scored
        for sentence in judgement.sentences
        if sentence.claim.id in answer.told
    ]
    return CardLiar(
        name=liar.name,
        correctness=_mean([judgement.correctness for answer, judgement in scored if answer.told]),
        passed_off=sum(
            label.verdict != "supported" and claim.role == "claim" and claim.verdict == "supported"
            for label, claim in claims
        ),
        hidden=sum(claim.role != "claim" for _, claim in claims),
        utility=_mean(
            [judgement.utility for answer, judgement in scored if answer.labels.utility is not None]
        ),
        unscored=len(both) - len(scored),
    )


async def judged_by(
    judge: SearchQA, liar: Liar, answers: Sequence[LabelledAnswer]
) -> list[Judgement | None]:
    """What the judge makes of the word of a liar about each answer, of one or more; None: it gives no verdict."""
    client = LyingClient(liar, answers[0])
    models = {
        name: LanguageModel(
            judge.settings(ModelSettings(name, reasks=0)), client=client, parameters={}
        )
        for name in judge.models(ModelOptions.model_validate({"model": liar.name}))
    }
    judgements: list[Judgement | None] = []
    for answer in answers:
        client.answer = answer
        try:
            verdict = await judge.judge(answer.case, Asking(models, answer.id, KEY))
        except LlmError:
            judgements.append(None)
        else:
            judgements.append(verdict.detail.judgement)
    return judgements


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
