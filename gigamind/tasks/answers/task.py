"""The answers task (seed 004): are answers grounded in their notes, and do they help?  Models judge them all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from gigamind.assurance.judged_runs import JudgedKind
from gigamind.datasets.labels import AnswerLabel
from gigamind.evaluation.asking import ModelRun
from gigamind.evaluation.progress import Progress, Quiet
from gigamind.evaluation.shards import Shard
from gigamind.evaluation.task import Checked, Evaluation, Run, Task
from gigamind.records.schema import Record
from gigamind.tasks.answers.compare import AnswerComparison
from gigamind.tasks.answers.judged import answer_items
from gigamind.tasks.answers.options import AnswerEvalOptions
from gigamind.tasks.answers.schema import AnswerItemReport, AnswerSummaryReport
from gigamind.tasks.answers.view import AnswerView

if TYPE_CHECKING:  # options and reports must not cost the import of all that runs it
    from gigamind.tasks.answers.prepare import PreparedAnswers


@dataclass(frozen=True)
class AnswerEvaluation(Evaluation[AnswerSummaryReport, AnswerItemReport, None]):
    """Checked answers, or queries with the notes that a model is to answer from."""

    prepared: "PreparedAnswers"
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

        del results
        return ask_about(self.prepared, out, progress, shard)

    def record(
        self, run: Run[None], started: datetime
    ) -> Record[AnswerSummaryReport, AnswerItemReport]:
        from gigamind.tasks.answers.summary import record_answers

        asked = run.asked or ModelRun({}, (), interrupted=True)
        return record_answers(self.prepared, run, asked, started)


class AnswerTask(Task[AnswerEvalOptions, AnswerSummaryReport, AnswerItemReport]):
    """See the module."""

    name = "answers"
    options = AnswerEvalOptions
    compared = AnswerComparison()
    view = AnswerView()
    judged = JudgedKind(
        {
            "correctness": "graded",
            "completeness": "graded",
            "utility": "graded",
            "supported": "binary",
        },
        AnswerLabel,
        answer_items,
    )

    def open(
        self, options: AnswerEvalOptions, progress: Progress
    ) -> Evaluation[AnswerSummaryReport, AnswerItemReport, None]:
        """With `--answer-model`, it searches for the context."""
        from gigamind.tasks.answers.prepare import prepare_answers

        return AnswerEvaluation(prepare_answers(options, progress))

    def check(self, options: AnswerEvalOptions) -> Checked:
        """By keywords, for another embedder may be one that is paid for."""
        from gigamind.tasks.answers.estimate import estimate_answers
        from gigamind.tasks.answers.prepare import prepare_answers

        prepared = prepare_answers(options.model_copy(update={"mode": "keyword"}), Quiet())
        ready = f"{len(prepared.cases)} answers ready"
        return Checked(
            ready,
            ready,
            prepared.errors,
            prepared.warnings,
            prepared.dataset_hash,
            prepared.notes_hash,
            lambda: estimate_answers(prepared),
        )
