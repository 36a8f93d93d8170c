"""Compare finished runs from their files: the experiment, and for two runs the verdict of the gates."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gigamind.errors import InputError
from gigamind.evaluation.options import ReleaseOptions
from gigamind.evaluation.release import COMPARE_FILE, ReleaseVerdict, announce, read_reference
from gigamind.evaluation.task import Task
from gigamind.i18n import LANGUAGES, Language, LanguageChoice, _, language_of, translator
from gigamind.release.comparison import Snapshot
from gigamind.release.experiment import Experiment, compare_with_first
from gigamind.release.model import FILE
from gigamind.release.snapshot import read_baseline, read_run
from gigamind.reports.document import Document
from gigamind.reports.experiment import experiment_document
from gigamind.reports.html import render_html
from gigamind.reports.markdown import render_markdown
from gigamind.reports.run import Outcome, run_document
from gigamind.reports.verdict import release_document

Tasks = Mapping[str, Task[Any, Any, Any]]
_REPORT = "report.html"
_LEAST = 2


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """The result of a comparison."""

    experiment: Experiment
    runs: tuple[Snapshot, ...]  # the compared runs
    verdict: ReleaseVerdict | None  # None if more than two runs were compared
    lang: Language
    paths: tuple[Path, ...]
    # report.html of the second of two runs with the first as baseline; "" if its files are missing.
    report: str = ""

    def dump(self) -> dict[str, Any]:
        """Return JSON values: `experiment`, and for two runs `comparison` and `gate`."""
        verdict = self.verdict.dump() if self.verdict else {}
        return {**verdict, "experiment": self.experiment.model_dump(mode="json")}

    def document(self, items: str = "") -> Document:
        """Return the page; `items` is the URL of the list of changed items."""
        return experiment_document(
            self.experiment,
            self.runs,
            translator(self.lang),
            release=self.verdict,
            paths=self.paths,
            items=items,
            report=_REPORT if self.report else "",
        )

    def files(self) -> dict[str, str]:
        """Return the output files by name."""
        text = json.dumps(self.dump(), ensure_ascii=False, indent=2, allow_nan=False)
        page = render_html(self.document("#list"), translator(self.lang))
        files = {"compare.html": page, "compare.json": text + "\n"}
        if self.verdict:
            baseline, run = (shlex.quote(str(path)) for path in self.paths)
            page = release_document(self.verdict, run, baseline=baseline)
            files[COMPARE_FILE] = render_markdown(page, translator(self.lang))
        return files | ({_REPORT: self.report} if self.report else {})


def compare_runs(
    paths: Sequence[Path], options: ReleaseOptions, lang: LanguageChoice, tasks: Tasks
) -> ComparedRuns:
    """Compare runs with the first of them; two runs get a verdict, which is announced as the options say.

    Args:
        paths: output folders, snapshots or folders of baselines, at least two.
        lang: of the pages; auto: that of the last run, or of the environment.

    Raises:
        InputError: a run cannot be read, tasks or datasets differ, or gates are requested for more than two runs.
    """
    if len(paths) < _LEAST:
        raise InputError(
            _(
                "Name at least two runs, such as: gigamind compare runs/a runs/b. The first run is the reference;"
                " the others are compared with it."
            )
        )
    gated = options.fail_on_regression or options.junit or options.comment
    if len(paths) > _LEAST and gated:
        raise InputError(
            _(
                "--fail-on-regression, --junit, --comment: these options need exactly two runs, because gates"
                " compare one run with one baseline. Name two runs, or remove these options."
            )
        )
    kinds = {name: task.compared for name, task in tasks.items()}
    last = read_baseline(paths[-1], kinds)
    choice = last.config.get("lang") if lang == "auto" else lang
    language = language_of(str(choice) if choice in LANGUAGES else "auto")
    reference = read_reference(paths[0], options, last.task, kinds)
    between = [read_baseline(path, kinds, last.task) for path in paths[1:-1]]
    verdict, report, say = None, "", translator(language)
    if not between:
        verdict = reference.verdict(last)
        page = release_document(verdict, str(paths[-1]))
        announce(verdict, options, page, language=language)
        if (paths[-1] / "run.json").is_file():
            outcome = Outcome(verdict, reference.baseline, out=paths[-1])
            record = read_run(paths[-1], kinds)
            report = render_html(run_document(tasks[last.task].view, record, outcome, say), say)
    runs = (reference.baseline, *between, last)
    experiment = compare_with_first([label_of(path) for path in paths], runs)
    return ComparedRuns(experiment, runs, verdict, language, tuple(paths), report)


def label_of(path: Path) -> str:
    """Return the name of a run: its folder, or its file if that has a name of its own."""
    whole = path.resolve()
    if whole.is_dir():
        return whole.name
    return whole.parent.name if whole.name == FILE else whole.stem
