"""The answers task (spec 004): are answers grounded in their notes, and are they useful? Models judge them."""

from typing import TYPE_CHECKING

from gigamind.assurance.judged_runs import JudgedKind, RunItem
from gigamind.assurance.label_items import LabelSource, LabelTask, LabelUnit
from gigamind.datasets.labels import AnswerLabel
from gigamind.evaluation.progress import Progress, Quiet
from gigamind.evaluation.task import Checked, Task
from gigamind.i18n import Text, _, n_
from gigamind.records.judged import EvaluatedClaim
from gigamind.records.schema import RunReport
from gigamind.tasks.answers.schema import (
    AnswerComparison,
    AnswerItemReport,
    AnswerRunRecord,
    AnswerSummaryReport,
)
from gigamind.tasks.answers.view import AnswerView
from gigamind.tasks.options import AnswerEvalOptions

if TYPE_CHECKING:  # options and reports must not import everything that runs the task
    from gigamind.systems.protocol import Answerer
    from gigamind.tasks.answers.judging import AnswerEvaluation


class AnswerTask(Task[AnswerEvalOptions, AnswerSummaryReport, AnswerItemReport]):
    """Evaluates answers; `answerer` is the system of `--system`, if the caller has opened it."""

    name = "answers"
    options = AnswerEvalOptions
    compared = AnswerComparison()
    view = AnswerView()

    def __init__(self, answerer: "Answerer | None" = None) -> None:
        self._answerer = answerer

    @property
    def judged(self) -> JudgedKind:
        from gigamind.judges.search_qa.judge import SearchQA

        return JudgedKind(SearchQA.scales, AnswerLabel, self.compared, _answer_items, self.units)

    def units(self, item: AnswerItemReport) -> list[LabelUnit]:
        """Return the answer with its claims, then whether it answers the question or rightly abstains; if judged."""
        judged = item.evaluation
        if judged is None:
            return []
        sources = tuple(LabelSource(note.title, note.path, note.text) for note in item.notes)
        claims = tuple(
            LabelTask(
                id=f"{item.id}#{claim.id}",
                kind="claim",
                text=claim.text,
                sources=sources,
                verdict="not_found" if claim.verdict == "unverified" else claim.verdict,
                doubt=_doubt(claim),
                start=claim.utf16_start,
                end=claim.utf16_end,
            )
            for claim in judged.claims
        )
        if judged.abstains or not claims:
            verdict = "wrong" if judged.answerable else "right"
            last = LabelTask(item.id, "abstention", item.answer or "", sources, verdict, 0.5)
        else:
            last = LabelTask(
                item.id, "answer", item.answer or "", sources, _answers(judged.utility)
            )
        right = judged.correctness == 1 and not item.flipped
        stratum = _NO_CLAIMS if not claims else _ALL_SUPPORTED if right else _SOME_NOT
        value = judged.correctness if claims else None
        about = item.id, item.language or "", item.question, item.answer or ""
        return [LabelUnit(*about, (*claims, last), value, stratum)]

    def open(self, options: AnswerEvalOptions, progress: Progress) -> "AnswerEvaluation":
        from gigamind.tasks.answers.judging import AnswerEvaluation
        from gigamind.tasks.answers.prepare import prepare_answers

        return AnswerEvaluation(prepare_answers(options, progress), self._answerer)

    def shortfall(self, record: AnswerRunRecord) -> Text | None:
        first = next((error.message for error in record.errors if error.kind == "item"), "")
        health, counts = record.summary.system, record.summary.counts
        if health and health.is_unreliable:
            return _(
                "the system gave no answer to {count:,} questions ({share:.0%}): {reason}",
                count=health.failed,
                share=health.share,
                reason=first,
            )
        if record.llm is None and counts.without_context and not counts.answers_evaluated:
            return _(
                "no answer was judged: {count:,} answers have no context; {fix}",
                count=counts.without_context,
                fix=_context_fix(record.run),
            )
        return None

    def check(self, options: AnswerEvalOptions) -> Checked:
        """Check the input with keyword search, because other embedders may be paid."""
        from gigamind.tasks.answers.judging import AnswerEvaluation
        from gigamind.tasks.answers.prepare import prepare_answers

        prepared = prepare_answers(options.model_copy(update={"mode": "keyword"}), Quiet())
        evaluation = AnswerEvaluation(prepared)
        if prepared.system and prepared.system.kind == "run":
            evaluation = evaluation.with_run()
            prepared = evaluation.prepared
        count = len(prepared.cases) // (options.repeats if prepared.system else 1)
        ready = (
            n_("{n} question ready to evaluate", "{n:,} questions ready to evaluate", n=count)
            if prepared.system
            else n_("{n} answer ready to evaluate", "{n:,} answers ready to evaluate", n=count)
        )
        found = prepared.errors, prepared.warnings, prepared.dataset_hash, prepared.notes_hash
        return Checked(ready, ready, *found, evaluation.estimate, evaluation.least_calls)


def _context_fix(run: RunReport) -> Text:
    system = run.environment.system
    if system is None:
        fix = _("add the contexts to the dataset")
    elif system.kind == "http":
        fix = _("set the path of the contexts (`contexts` in --system-config)")
    else:
        fix = _("let the system return the contexts (`contexts` next to `answer`)")
    if run.options.get("notes"):
        return fix
    return _("add --notes if the contexts are names of notes, or {fix}", fix=fix)


_SUPPORTED = "supported"


def _answer_items(item: AnswerItemReport) -> list[RunItem]:
    """Return the answer and its claims, as `<answer>#<claim>`; without an evaluation, the labelled claims."""
    judged, labels = item.evaluation, item.labels
    own = {"correctness": labels.correctness, "utility": labels.utility} if labels else {}
    claim_labels = labels.claims if labels else ()
    answer = RunItem(
        id=item.id,
        cluster=item.question_id,
        question=item.question,
        language=item.language,
        verdicts={
            "correctness": judged.correctness if judged else None,
            "completeness": judged.completeness if judged else None,
            "utility": judged.utility if judged else None,
            **(item.verdict.scores if item.verdict else {}),
        },
        own_labels={name: label for name, label in own.items() if label is not None},
    )
    if judged is None:
        numbered = enumerate(claim_labels, start=1)
        unjudged = (_of_claim(item, at, x.text, None, x.verdict) for at, x in numbered)
        return [answer, *unjudged]
    labelled = {label.claim: label.verdict for label in claim_labels if label.claim is not None}
    claims = (_of_claim(item, x.id, x.text, x, labelled.get(x.id)) for x in judged.claims)
    return [answer, *claims]


def _of_claim(
    item: AnswerItemReport, number: int, text: str, claim: EvaluatedClaim | None, label: str | None
) -> RunItem:
    return RunItem(
        id=f"{item.id}#{number}",
        cluster=item.question_id,
        question=text,
        language=item.language,
        verdicts={"supported": float(claim.verdict == _SUPPORTED) if claim else None},
        own_labels={} if label is None else {"supported": float(label == _SUPPORTED)},
        quotes=(claim.evidence["quote"],) if claim and claim.evidence else (),
    )


_ALL_SUPPORTED, _SOME_NOT, _NO_CLAIMS = 0, 1, 2


def _answers(utility: float | None) -> str | None:
    if utility is None:
        return None
    return "no" if utility < 1 / 3 else "partly" if utility < 2 / 3 else "yes"


def _doubt(claim: EvaluatedClaim) -> float:
    """Return how close the score is to the middle, in [0, 1]; 1 if guard and score, or two checks, disagree."""
    score, supported = claim.strength, claim.verdict == _SUPPORTED
    if claim.confirmed is not None and claim.confirmed != supported:
        return 1.0
    if score is None:
        return 0.5
    return 1.0 if claim.refused and score >= 1 / 2 else 1 - abs(2 * score - 1)
