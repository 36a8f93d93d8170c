"""Puts answers through the checklist quality gate, beside their evaluation and independent of it (seed 004, "2-1")."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gigamind.assets import asset
from gigamind.errors import InputError, LlmError
from gigamind.evals.answer_case import EvalCase
from gigamind.evals.answer_judge import short_name
from gigamind.evals.answer_options import AnswerEvalOptions
from gigamind.evidence.result import Aligned
from gigamind.judges.checklist import (
    ChecklistJudge,
    ChecklistVerdict,
    ItemVerdict,
    Response,
    judge_checklist,
    load_checklist_judge,
)
from gigamind.judges.checklist_file import Checklist
from gigamind.judges.spec import LANGUAGES, Language, fingerprint_of
from gigamind.llm.ask import LanguageModel
from gigamind.llm.fences import Source
from gigamind.reports.judged import JudgeReport
from gigamind.reports.quality_schema import QualityItemReport, QualityReport
from gigamind.runs.resume import outcome_of
from gigamind.runs.store import FINAL

GATE_ROLE = "quality_gate"
_MARK = f"\x1f{GATE_ROLE}"  # no id that a person writes ends like this


@dataclass(frozen=True, slots=True)
class ChecklistGate:
    """The gate of a run, and what its summary says of it."""

    feature: str
    by_language: Mapping[Language, ChecklistJudge]
    report: JudgeReport

    def judge_in(self, language: Language) -> ChecklistJudge:
        """The judge whose prompt is in this language, else in the one there is."""
        return self.by_language.get(language) or next(iter(self.by_language.values()))

    @property
    def checklist(self) -> Checklist:
        """What answers are checked for."""
        judge = next(iter(self.by_language.values()))
        return judge.definition.file.features[self.feature]


def choose_gate(options: AnswerEvalOptions) -> ChecklistGate | None:
    """The gate of the options; None where they ask for none.

    Raises:
        InputError: its file cannot be used, has no such feature, or is named without `--checklist`.
    """
    if not options.checklist:
        _refuse_idle(options)
        return None
    path = options.checklist_judge or asset("judges") / "quality_gate.toml"
    judges: dict[Language, ChecklistJudge] = {
        name: load_checklist_judge(path, name) for name in LANGUAGES[options.judge_lang]
    }
    first = next(iter(judges.values())).definition.file
    if options.feature not in first.features:
        raise InputError(
            f'--feature: {path} has no feature "{options.feature}"; it has {", ".join(sorted(first.features))}'
        )
    model = options.settings().model
    marks = [judge.definition.fingerprint for judge in judges.values()]
    report = JudgeReport(
        kind=first.kind,
        file=short_name(path),
        fingerprint=fingerprint_of(first, options.feature, model, *marks),
        model=model,
        languages=tuple(judges),
    )
    return ChecklistGate(options.feature, judges, report)


def _refuse_idle(options: AnswerEvalOptions) -> None:
    """An option that would change nothing was meant to."""
    idle = {
        "--checklist-judge": options.checklist_judge is not None,
        "--feature": options.feature != AnswerEvalOptions.model_fields["feature"].default,
    }
    for name, given in idle.items():
        if given:
            raise InputError(f"{name}: is used with --checklist only; give both, or none")


def check_key(case_id: str) -> str:
    """Under which id a run keeps the check of an answer, apart from its evaluation."""
    return case_id + _MARK


def checked_id(key: str) -> str | None:
    """The answer whose check is kept under this id; None for an evaluation."""
    return key.removesuffix(_MARK) if key.endswith(_MARK) else None


def response_of(gate: ChecklistGate, case: EvalCase, answer: str) -> Response:
    """An answer as the gate is asked about it."""
    notes = tuple(Source(note.title, note.text) for note in case.notes)
    return Response(gate.feature, case.question, answer, notes)


async def check_answer(
    model: LanguageModel,
    gate: ChecklistGate,
    case: EvalCase,
    answer: str,
    fence_key: bytes,
    *,
    twice: bool,
) -> dict[str, Any]:
    """The check of one answer, as JSON values of a `QualityReport`.

    Args:
        twice: check it anew, too, to see what flips.  A second check that fails for good has flipped, and the first
            one counts all the same; a blank answer is checked without asking, and never again.

    Raises:
        LlmError: see `judge_checklist`; of the second check only what another attempt may end otherwise.
    """

    async def checked(*, fresh: bool) -> ChecklistVerdict:
        return await judge_checklist(
            model,
            gate.judge_in(case.prompt_language),
            response_of(gate, case, answer),
            item_id=case.id,
            fence_key=fence_key,
            fresh=fresh,
        )

    first = _report(await checked(fresh=False))
    if twice and answer.strip():
        try:
            first = _compared(first, await checked(fresh=True))
        except LlmError as error:
            if outcome_of(error.code) not in FINAL:
                raise
            first = first.model_copy(update={"flipped": True})
    return first.model_dump(mode="json")


def _compared(first: QualityReport, again: ChecklistVerdict) -> QualityReport:
    items = (
        one.model_copy(update={"flipped": one.yes != other.yes})
        for one, other in zip(first.items, again.items, strict=True)
    )
    return first.model_copy(update={"flipped": first.passed != again.passed, "items": tuple(items)})


def _report(verdict: ChecklistVerdict) -> QualityReport:
    return QualityReport(
        passed=verdict.passed, ratio=verdict.share, items=tuple(map(_item, verdict.items))
    )


def _item(item: ItemVerdict) -> QualityItemReport:
    place = item.evidence
    return QualityItemReport(
        id=item.id,
        text=item.question,
        yes=item.yes,
        told=item.told,
        quote=place.quote.text if place else "",
        trusted=item.verified,
        source=place.quote.source_index if isinstance(place, Aligned) else None,
    )
