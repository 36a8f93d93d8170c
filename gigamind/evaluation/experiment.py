"""Finished runs held against each other, from their files: the experiment, and for two of them the gates' verdict."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gigamind.errors import InputError
from gigamind.evaluation.options import ReleaseOptions
from gigamind.evaluation.release import ReleaseVerdict, announce, read_reference
from gigamind.evaluation.task import Task
from gigamind.release.comparison import Snapshot
from gigamind.release.experiment import Experiment, compare_runs
from gigamind.release.model import FILE
from gigamind.release.snapshot import read_baseline, read_run
from gigamind.reports.decision import brief
from gigamind.reports.page.experiment import render_experiment
from gigamind.wording import Language, LanguageChoice, language_of, words

Tasks = Mapping[str, Task[Any, Any, Any]]
_REPORT = "report.html"
_LEAST = 2


@dataclass(frozen=True, slots=True)
class Held:
    """What was found.

    Attributes:
        runs: the runs of the experiment.
        verdict: None where more than two runs were compared.
        report: report.html of the second of two runs beside the first; "" where its texts are not at hand.
    """

    experiment: Experiment
    runs: tuple[Snapshot, ...]
    verdict: ReleaseVerdict | None
    lang: Language
    report: str = ""

    def dump(self) -> dict[str, Any]:
        """JSON values: `experiment`, and of two runs `comparison` and `gate`."""
        verdict = self.verdict.dump() if self.verdict else {}
        return {**verdict, "experiment": self.experiment.model_dump(mode="json")}

    def files(self) -> dict[str, str]:
        """All that is written, by name."""
        page = render_experiment(
            self.experiment,
            self.runs,
            lang=self.lang,
            release=self.verdict.release if self.verdict else None,
            report=_REPORT if self.report else "",
        )
        text = json.dumps(self.dump(), ensure_ascii=False, indent=2, allow_nan=False)
        files = {"compare.html": page, "compare.json": text + "\n"}
        if self.verdict:
            files["compare.md"] = self.verdict.markdown(self.lang)
        return files | ({_REPORT: self.report} if self.report else {})


def hold_runs(
    paths: Sequence[Path], options: ReleaseOptions, lang: LanguageChoice, tasks: Tasks
) -> Held:
    """Hold runs against the first of them; two get a verdict, which is announced where the options say.

    Args:
        paths: out folders, snapshots or folders of baselines, at least two.
        options: of the gates.
        lang: of the pages; auto: that of the last run, and of the environment where it says none.
        tasks: by name.

    Raises:
        InputError: a run cannot be read, they are of different tasks or datasets, or more than two are to be gated.
    """
    if len(paths) < _LEAST:
        raise InputError(
            "name two runs or more, such as: gigamind compare runs/a runs/b; the others are held against the first"
        )
    gated = options.fail_on_regression or options.junit or options.comment
    if len(paths) > _LEAST and gated:
        raise InputError(
            "--fail-on-regression, --junit, --comment: a gate holds one run against its baseline;"
            " name two runs, or leave them out"
        )
    kinds = {name: task.compared for name, task in tasks.items()}
    last = read_baseline(paths[-1], kinds)
    choice = last.config.get("lang") if lang == "auto" else lang
    language = language_of("ko" if choice == "ko" else "en" if choice == "en" else "auto")
    reference = read_reference(paths[0], options, last.task, kinds)
    between = [read_baseline(path, kinds, last.task) for path in paths[1:-1]]
    verdict, report = None, ""
    if not between:
        verdict = reference.verdict(last)
        summary = partial(brief, last.task, verdict.release, words(language))
        announce(verdict, options, summary, language=language)
        if (paths[-1] / "run.json").is_file():
            record = read_run(paths[-1], kinds)
            view = tasks[last.task].view
            report = view.page(
                record, lang=language, baseline=reference.baseline, gate=verdict.gate
            )
    runs = (reference.baseline, *between, last)
    experiment = compare_runs([label_of(path) for path in paths], runs)
    return Held(experiment, runs, verdict, language, report)


def label_of(path: Path) -> str:
    """What people call a run: the name of its folder, or of a file that is not called as every snapshot is."""
    whole = path.resolve()
    if whole.is_dir():
        return whole.name
    return whole.parent.name if whole.name == FILE else whole.stem
