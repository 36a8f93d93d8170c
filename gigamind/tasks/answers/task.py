"""The answers task (seed 004): are answers grounded in their notes, and do they help?  Models judge them all."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from gigamind.assurance.judged_runs import JudgedKind, RunItem
from gigamind.datasets.labels import AnswerLabel
from gigamind.evaluation.progress import Progress, Quiet
from gigamind.evaluation.shards import Shard
from gigamind.evaluation.task import Checked, Evaluation, Run, Task
from gigamind.evaluation.unfinished import ModelRun, is_resumable, unfinished_folder
from gigamind.judges.protocol import Scale
from gigamind.records.schema import Record, RunReport
from gigamind.runs.store import read_results
from gigamind.tasks.answers.compare import AnswerComparison
from gigamind.tasks.answers.options import AnswerEvalOptions
from gigamind.tasks.answers.schema import (
    AnswerItemReport,
    AnswerSummaryReport,
    EvaluatedClaim,
)
from gigamind.tasks.answers.view import AnswerView

if TYPE_CHECKING:  # options and reports must not cost the import of all that runs it
    from gigamind.systems.protocol import Answerer
    from gigamind.tasks.answers.prepared import PreparedAnswers
    from gigamind.tasks.answers.system import Asked


@dataclass
class AnswerEvaluation(Evaluation[AnswerSummaryReport, AnswerItemReport, None]):
    """Checked answers, queries with the notes that a model is to answer from, or questions for a system.

    Attributes:
        answerer: the system, where it is at hand.
        asked: what the system answered, once it was asked.
    """

    prepared: "PreparedAnswers"
    answerer: "Answerer | None" = None
    asked: "Asked | None" = field(default=None, init=False)
    results = TypeAdapter(list[None])

    @property
    def count(self) -> int:
        return 0

    @property
    def asks_a_model(self) -> bool:
        return True

    def score(self, first: int, end: int, progress: Progress) -> list[None]:
        del first, end, progress
        return []

    @property
    def to_ask(self) -> int:
        return len(self.prepared.cases)

    def ask(
        self,
        results: Sequence[None],
        out: Path,
        progress: Progress,
        shard: Shard | None = None,
    ) -> ModelRun:
        from gigamind.tasks.answers.judging import ask_about
        from gigamind.tasks.answers.prepared import with_answers
        from gigamind.tasks.answers.system import ask_system, kept_answers

        del results
        if self.prepared.system is None:
            return ask_about(self.prepared, out, progress, shard, begun=False)
        if shard and not shard.gathers:  # what the process that began the run was answered
            prepared = with_answers(self.prepared, read_results(unfinished_folder(out)))
            return ask_about(prepared, out, progress, shard, begun=False)
        if shard and is_resumable(out) and self.prepared.options.resume is None:
            self.asked = self.asked or kept_answers(self.prepared, out)
        asked = self.asked = self.asked or ask_system(self.prepared, self.answerer, out, progress)
        if asked.interrupted and shard:
            raise KeyboardInterrupt
        if asked.interrupted:
            return ModelRun(asked.results, (), interrupted=True)
        prepared = with_answers(self.prepared, asked.results)
        run = ask_about(prepared, out, progress, shard, begun=True)
        return replace(run, results={**asked.for_good, **run.results})

    def record(
        self, run: Run[None], started: datetime
    ) -> Record[AnswerSummaryReport, AnswerItemReport]:
        from gigamind.tasks.answers.summary import record_answers

        asked, prepared = run.model_run or ModelRun({}, (), interrupted=True), self.prepared
        if self.asked:
            prepared = replace(prepared, warnings=(*prepared.warnings, *self.asked.warnings))
        return record_answers(prepared, run, asked, started)


class AnswerTask(Task[AnswerEvalOptions, AnswerSummaryReport, AnswerItemReport]):
    """See the module.

    Args:
        answerer: the system that `--system` names, where it is at hand.
    """

    name = "answers"
    options = AnswerEvalOptions
    compared = AnswerComparison()
    view = AnswerView()

    def __init__(self, answerer: "Answerer | None" = None) -> None:
        self._answerer = answerer

    @property
    def judged(self) -> JudgedKind:
        scales: dict[str, Scale] = {
            "correctness": "graded",
            "completeness": "graded",
            "utility": "graded",
            "supported": "binary",
        }
        return JudgedKind(scales, AnswerLabel, self.compared, answer_items)

    def open(
        self, options: AnswerEvalOptions, progress: Progress
    ) -> Evaluation[AnswerSummaryReport, AnswerItemReport, None]:
        """With `--answer-model`, it searches for the context."""
        from gigamind.tasks.answers.prepare import prepare_answers

        return AnswerEvaluation(prepare_answers(options, progress), self._answerer)

    def shortfall(self, record: Record[AnswerSummaryReport, AnswerItemReport]) -> str | None:
        first = next((error.message for error in record.errors if error.kind == "item"), "")
        health, counts = record.summary.system, record.summary.counts
        if health and (short := health.shortfall("answer to {} questions", first)):
            return short
        if record.llm is None and counts.without_context and not counts.answers_evaluated:
            return (
                f"no verdict on any answer: {counts.without_context} have no context to be judged by;"
                f" {_context_cure(record.run)}"
            )
        return None

    def check(self, options: AnswerEvalOptions) -> Checked:
        """By keywords, for another embedder may be one that is paid for."""
        from gigamind.tasks.answers.estimate import estimate_answers
        from gigamind.tasks.answers.judging import least_calls
        from gigamind.tasks.answers.prepare import prepare_answers
        from gigamind.tasks.answers.system import with_run

        prepared = prepare_answers(options.model_copy(update={"mode": "keyword"}), Quiet())
        if prepared.system and prepared.system.kind == "run":
            prepared = with_run(prepared)
        ready = f"{len(prepared.cases)} {'questions' if prepared.system else 'answers'} ready"
        return Checked(
            ready,
            ready,
            prepared.errors,
            prepared.warnings,
            prepared.dataset_hash,
            prepared.notes_hash,
            lambda: estimate_answers(prepared),
            lambda: least_calls(prepared),
        )


def _context_cure(run: RunReport) -> str:
    """How answers come by their contexts: names alone are none without a vault, and only an endpoint has paths."""
    system = run.environment.system
    if system is None:
        where = "write it into the dataset"
    elif system.kind == "http":
        where = "say where it stands (`contexts` of --system-config)"
    else:
        where = "let the system tell it (`contexts` beside `answer`)"
    return (
        where
        if run.options.get("notes")
        else f"add --notes, where it is told by names of notes, or {where}"
    )


_SUPPORTED = "supported"


def answer_items(item: AnswerItemReport) -> list[RunItem]:
    """The answer itself, then each of its claims, as `<answer>#<claim>`; without an evaluation, those with a label."""
    judged, labels = item.evaluation, item.labels
    own = {"correctness": labels.correctness, "utility": labels.utility} if labels else {}
    told = labels.claims if labels else ()
    answer = RunItem(
        id=item.id,
        cluster=item.id,
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
        unjudged = (
            _of_claim(item, number, label.text, None, label.verdict)
            for number, label in enumerate(told, start=1)
        )
        return [answer, *unjudged]
    labelled = {label.claim: label.verdict for label in told if label.claim is not None}
    claims = (
        _of_claim(item, claim.id, claim.text, claim, labelled.get(claim.id))
        for claim in judged.claims
    )
    return [answer, *claims]


def _of_claim(
    item: AnswerItemReport, number: int, text: str, claim: EvaluatedClaim | None, label: str | None
) -> RunItem:
    return RunItem(
        id=f"{item.id}#{number}",
        cluster=item.id,
        question=text,
        language=item.language,
        verdicts={"supported": float(claim.verdict == _SUPPORTED) if claim else None},
        own_labels={} if label is None else {"supported": float(label == _SUPPORTED)},
        quotes=(claim.evidence["quote"],) if claim and claim.evidence else (),
    )
