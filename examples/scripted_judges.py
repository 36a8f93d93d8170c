"""Scripted models in place of a judge's model: an honest one, and deceptive ones that show which false replies pass.

Each replaces a model at the interface of `llm.client`, so its replies pass through the same parsing, alignment and
proof.  No network, no cost, and the same figures each time.  An honest one replies with the human labels: it is the
reference for the others.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from gigamind.assets import asset
from gigamind.datasets.check import CheckedAnswer, check_answers
from gigamind.datasets.jsonl import read_answers
from gigamind.datasets.schema import AnswerLabels, LabelledClaim
from gigamind.errors import DatasetError, InputError, LlmError
from gigamind.i18n import _
from gigamind.judges.protocol import AnswerCase, Asking
from gigamind.judges.search_qa.judge import SearchQA
from gigamind.judges.search_qa.numbers import known_numbers, new_numbers
from gigamind.judges.search_qa.reply import (
    ClaimFinding,
    ClaimsReply,
    Omission,
    ReportedRole,
    ReportedVerdict,
    SearchQAReply,
)
from gigamind.judges.search_qa.segments import Piece, claims_of, comparable, pieces_of
from gigamind.llm.ask import LanguageModel
from gigamind.llm.client import Answer, Request, Usage
from gigamind.llm.settings import ModelOptions, ModelSettings
from gigamind.prompting.fences import Source
from gigamind.records.judged import SearchQAEvaluation
from gigamind.text import tokens
from gigamind.vault.identity import Identities
from gigamind.vault.language import question_language
from gigamind.vault.notes import Vault

_LETTERS = 20  # letters and digits that a pasted line needs
_INVENTED = "Every quarter the parrots sing 77 operas. 분기마다 앵무새가 오페라 77곡을 부른다."


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer and its human labels."""

    id: str
    case: AnswerCase
    sentences: tuple[Piece, ...]  # sentences that the model is asked about
    claim_labels: Mapping[int, LabelledClaim]  # by sentence id; only for claims
    labels: AnswerLabels

    @classmethod
    def of(cls, name: str, case: AnswerCase, labels: AnswerLabels) -> "LabelledAnswer":
        """Return the answer with its sentences matched to the labels by text."""
        sentences = claims_of(pieces_of(case.answer))
        by_text = {comparable(label.text): label for label in reversed(labels.claims)}
        texts = {claim.id: comparable(claim.text) for claim in sentences}
        labelled = {number: by_text[text] for number, text in texts.items() if text in by_text}
        return cls(name, case, sentences, labelled, labels)


@dataclass(frozen=True, slots=True)
class LabelledAnswers:
    """The labelled answers of a dataset."""

    name: str
    sha256: str
    answers: tuple[LabelledAnswer, ...]
    unlabelled: int  # answers without labels or without notes to judge them by


def read_labelled_answers(dataset: Path | None, notes: Path | None) -> LabelledAnswers:
    """Read the labelled answers of a dataset, by default of the examples in the package.

    Args:
        notes: Vault of the notes that the rows name; None if the rows contain their text.

    Raises:
        InputError: `notes` without a dataset.
        DatasetError: The dataset cannot be read, a row is invalid, or no row has labels.
        NotesError: The vault cannot be read.
    """
    if dataset is None:
        if notes is not None:
            raise InputError(
                _("--notes requires --dataset, a file with labelled answers about these notes")
            )
        dataset, notes = asset("examples") / "answers.jsonl", asset("examples") / "vault"
    read = read_answers(dataset)
    vault = Vault.read(notes) if notes else None
    checked = check_answers(read, vault, Identities(vault.notes if vault else ()))
    if checked.errors:
        first = checked.errors[0]
        raise DatasetError(
            "{file}:{line}: {field}: {problem}. {fix} ({rejected} of {rows} rows cannot be used)",
            file=dataset,
            line=first.line,
            field=first.field,
            problem=first.message,
            fix=first.mend,
            rejected=checked.rejected,
            rows=checked.rows,
        )
    answers = tuple(_labelled(checked.usable))
    if not answers:
        raise DatasetError(
            '{file}: no answer has human labels ("labels"), so false verdicts of a judge cannot be detected. Add'
            " labels to some answers.",
            file=dataset,
        )
    return LabelledAnswers(dataset.name, read.sha256, answers, len(checked.usable) - len(answers))


def _labelled(checked: Sequence[CheckedAnswer]) -> Iterator[LabelledAnswer]:
    for row in checked:
        item, notes = row.item, tuple(Source(note.title, note.text) for note in row.notes)
        case = AnswerCase(item.question, item.answer or "", notes, question_language(item.question))
        if item.labels and case.has_context:
            yield LabelledAnswer.of(item.id, case, item.labels)


def _finding(
    claim: Piece,
    verdict: ReportedVerdict,
    note: int | None,
    quote: str,
    role: ReportedRole = "claim",
) -> ClaimFinding:
    return ClaimFinding(
        id=claim.id, role=role, abstention_quote="", verdict=verdict, note=note, quote=quote
    )


def _not_a_claim(claim: Piece, role: ReportedRole) -> ClaimFinding:
    words = claim.text if role == "abstention" else ""
    return _finding(claim, "not_found", None, "", role).model_copy(
        update={"abstention_quote": words}
    )


def _honest(answer: LabelledAnswer, claim: Piece) -> ClaimFinding:
    label = answer.claim_labels.get(claim.id)
    if label is not None:
        return _finding(claim, label.verdict, label.note, label.quote or "")
    return _not_a_claim(claim, "abstention" if answer.labels.abstains else "courtesy")


def _credulous(answer: LabelledAnswer, claim: Piece) -> ClaimFinding:
    """Follow the human labels, but call doubted claims supported too, by the most similar line."""
    label = answer.claim_labels.get(claim.id)
    if label is None or label.verdict == "supported":
        return _honest(answer, claim)
    words = set(tokens(claim.text))
    lines = [
        (number, line.strip())
        for number, note in enumerate(answer.case.notes, start=1)
        for line in note.text.splitlines()
    ]
    number, line = max(lines, key=lambda pair: len(words.intersection(tokens(pair[1]))))
    return _finding(claim, "supported", number, line)


def _left_out(answer: LabelledAnswer) -> Iterator[Omission]:
    given = [label for label in answer.claim_labels.values() if label.verdict == "supported"]
    for fact in answer.labels.facts:
        if any(
            (fact.text in (label.quote or "") or (label.quote or "") in fact.text)
            and not new_numbers(fact.text, known_numbers(label.text))
            for label in given
        ):
            continue
        for number, note in enumerate(answer.case.notes, start=1):
            if fact.text in note.text:
                yield Omission(what=fact.text, note=number, quote=fact.text)
                break


def _pastes_a_line(answer: LabelledAnswer, claim: Piece) -> ClaimFinding:
    lines = answer.case.notes[0].text.splitlines()
    long = [line for line in lines if sum(map(str.isalnum, line)) >= _LETTERS]
    return _finding(claim, "supported", 1, (long or lines or [""])[-1].strip())


def _no_claims(_answer: LabelledAnswer, claim: Piece) -> ClaimFinding:
    text, role = claim.text.rstrip(), "courtesy"
    if claim.shape == "heading":
        role = "heading"
    elif text.endswith(("?", "？")):
        role = "question"
    elif text.endswith((":", "：")):
        role = "lead_in"
    elif claim.cited:
        role = "source"
    return _not_a_claim(claim, role)


def _swaps_ids(answer: LabelledAnswer, claim: Piece) -> ClaimFinding:
    other = answer.sentences[claim.id % len(answer.sentences)]
    return _honest(answer, other).model_copy(update={"id": claim.id})


def _quotes_the_question(answer: LabelledAnswer, claim: Piece) -> ClaimFinding:
    return _finding(claim, "supported", 1, answer.case.question if claim.id % 2 else claim.text)


@dataclass(frozen=True, slots=True)
class ScriptedJudge:
    """A scripted judge; one that is not honest gives full marks and confirms everything in the second check."""

    name: str
    finding: Callable[[LabelledAnswer, Piece], ClaimFinding]  # about a sentence
    is_honest: bool = False  # follows the human labels, in the second check too

    def reply(self, answer: LabelledAnswer) -> SearchQAReply:
        """Return its reply about the whole answer."""
        labels = answer.labels
        proof = next(
            (c for c in labels.claims if self.is_honest and c.verdict == "supported"), None
        )
        answerable = proof or (self.is_honest and labels.abstains and not labels.utility)
        return SearchQAReply(
            claims=tuple(self.finding(answer, claim) for claim in answer.sentences),
            source_coverage=(),
            grounding_issues=(),
            omissions=tuple(_left_out(answer)) if self.is_honest else (),
            answerable=bool(answerable),
            answer_note=proof.note if proof else None,
            answer_quote=(proof.quote or "") if proof else "",
            utility_reason="",
            utility=(labels.utility or 0.0) if self.is_honest else 1.0,
            correctness=1.0,
            summary="",
        )

    def confirms(self, answer: LabelledAnswer, row: Mapping[str, Any]) -> bool:
        """Return its yes or no in a second check; the honest one reads whether the text has the labelled quote."""
        if not self.is_honest:
            return True
        text = str(row["text"])
        written = "\n".join(note.text for note in answer.case.notes)
        if not all(line.strip() in written for line in text.splitlines()):
            return False  # changed by code
        return any(
            label.verdict == "supported"
            and comparable(answer.sentences[number - 1].text) == comparable(row["statement"])
            and set(tokens(label.quote or "")) <= set(tokens(text))
            for number, label in answer.claim_labels.items()
        )

    def respond(
        self, answer: LabelledAnswer, response_format: Mapping[str, Any], prompt: str
    ) -> dict[str, Any]:
        """Return a reply about the answer in the shape that the request asks for."""
        schema: dict[str, Any] = response_format["json_schema"]["schema"]
        fields = schema["properties"].keys()
        if fields == SearchQAReply.requested_fields():
            return self.reply(answer).model_dump()
        if fields == ClaimsReply.requested_fields():
            return self.reply(answer).model_dump(include={"claims"})
        return self._second_check(answer, schema, prompt)

    def _second_check(
        self, answer: LabelledAnswer, schema: Mapping[str, Any], prompt: str
    ) -> dict[str, Any]:
        """Answer a second check of the statements in a JSON array: yes or no for booleans, input text elsewhere."""
        ((name, several),) = schema["properties"].items()
        row = schema["$defs"][several["items"]["$ref"].rpartition("/")[2]]["properties"]
        looks: list[dict[str, Any]] = []
        start = re.search(r'\[\s*\{"', prompt)
        statements: list[dict[str, Any]] = []
        if start:
            statements = json.JSONDecoder().raw_decode(prompt, start.start())[0]
        for statement in statements:
            confirmed = self.confirms(answer, statement)
            looks.append(
                {
                    field: confirmed if of["type"] == "boolean" else statement.get(field, "")
                    for field, of in row.items()
                }
            )
        return {name: looks}


HONEST = ScriptedJudge("honest", _honest, is_honest=True)
CREDULOUS = ScriptedJudge("credulous", _credulous, is_honest=True)
DECEPTIVE_JUDGES = (
    HONEST,
    CREDULOUS,
    ScriptedJudge("pastes_one_line", _pastes_a_line),
    ScriptedJudge(
        "always_supported",
        lambda _answer, claim: _finding(claim, "supported", 1, "" if claim.id % 2 else _INVENTED),
    ),
    ScriptedJudge("no_claims", _no_claims),
    ScriptedJudge("abstains", lambda _answer, claim: _not_a_claim(claim, "abstention")),
    ScriptedJudge("swaps_ids", _swaps_ids),
    ScriptedJudge("quotes_the_question", _quotes_the_question),
)


@dataclass(frozen=True)
class Result:
    """What a scripted judge achieves; a mean of nothing is None.

    Attributes:
        passed_off: claims that are unsupported by human labels but count as supported.
        hidden: human claims that count as none.
        unscored: answers without a verdict, which no figure includes.
    """

    name: str
    correctness: float | None
    passed_off: int
    hidden: int
    utility: float | None
    unscored: int


@dataclass(frozen=True)
class Results:
    """Results of all scripted judges, with the counts and means of the human labels."""

    answers: int
    claims: int
    unsupported: int
    correctness: float | None
    utility: float | None
    judges: tuple[Result, ...]


@dataclass(slots=True)
class ScriptedClient:
    """A model played by a scripted judge, for one answer after the other."""

    judge: ScriptedJudge
    answer: LabelledAnswer

    async def send(self, request: Request) -> Answer:
        """Return a reply of the requested shape."""
        prompt = str(request.messages[-1]["content"])
        reply = self.judge.respond(
            self.answer, (request.form or {}).get("response_format", {}), prompt
        )
        return Answer(json.dumps(reply), usage=Usage(0, 0))

    async def close(self) -> None:
        """Do nothing: there is no connection."""


async def run_deceptive_judges(judge: SearchQA, given: LabelledAnswers) -> Results:
    """Run each scripted judge over the labelled answers."""
    labels = [label for answer in given.answers for label in answer.claim_labels.values()]
    return Results(
        answers=len(given.answers),
        claims=len(labels),
        unsupported=sum(label.verdict != "supported" for label in labels),
        correctness=_mean(
            [
                fmean(label.verdict == "supported" for label in answer.claim_labels.values())
                for answer in given.answers
                if answer.claim_labels
            ]
        ),
        utility=_mean([answer.labels.utility for answer in given.answers]),
        judges=tuple(
            [await _tried(judge, scripted, given.answers) for scripted in DECEPTIVE_JUDGES]
        ),
    )


async def _tried(
    judge: SearchQA, scripted: ScriptedJudge, answers: Sequence[LabelledAnswer]
) -> Result:
    both = list(zip(answers, await judged_by(judge, scripted, answers), strict=True))
    scored = [(answer, judgement) for answer, judgement in both if judgement]
    claims = [
        (answer.claim_labels[claim.id], claim)
        for answer, judgement in scored
        for claim in judgement.claims
        if claim.id in answer.claim_labels
    ]
    return Result(
        name=scripted.name,
        correctness=_mean(
            [judgement.correctness for answer, judgement in scored if answer.claim_labels]
        ),
        passed_off=sum(
            label.verdict != "supported" and claim.verdict == "supported" for label, claim in claims
        ),
        hidden=sum(
            aside.id in answer.claim_labels
            for answer, judgement in scored
            for aside in judgement.asides
        ),
        utility=_mean(
            [judgement.utility for answer, judgement in scored if answer.labels.utility is not None]
        ),
        unscored=len(both) - len(scored),
    )


async def judged_by(
    judge: SearchQA, scripted: ScriptedJudge, answers: Sequence[LabelledAnswer]
) -> list[SearchQAEvaluation | None]:
    """Judge each answer by the replies of a scripted judge; None for an answer without a verdict."""
    client = ScriptedClient(scripted, answers[0])
    models = {
        name: LanguageModel(
            judge.settings(ModelSettings(name, reasks=0)), client=client, parameters={}
        )
        for name in judge.models(ModelOptions.model_validate({"model": scripted.name}))
    }
    judgements: list[SearchQAEvaluation | None] = []
    for answer in answers:
        client.answer = answer
        try:
            verdict = await judge.judge(answer.case, Asking(models, answer.id, b""))
        except LlmError:
            judgements.append(None)
        else:
            judgements.append(verdict.detail)
    return judgements


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
