"""Compare a run with a baseline and decide on the release; every output comes from one GateResult."""

import hashlib
import json
import os
import shlex
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self
from xml.etree import ElementTree as ET

from pydantic import ValidationError

from gigamind.choices import BASELINES
from gigamind.errors import BrokenBoundError, GigamindError, InputError, reason_of, text_of
from gigamind.evaluation.options import EvalOptions, ReleaseOptions
from gigamind.evaluation.task import Task
from gigamind.i18n import (
    LANGUAGES,
    Language,
    LanguageChoice,
    Translator,
    _,
    language_of,
    translator,
)
from gigamind.loading import first_problem
from gigamind.records.card import JudgeCard, read_card
from gigamind.records.folder import PastRun, as_json, conditions, past_runs, read_report
from gigamind.records.schema import RunReport
from gigamind.release.compare import check_models, compare, compare_with_first
from gigamind.release.comparison import Experiment
from gigamind.release.gates import judge_release
from gigamind.release.model import FILE, EvalSnapshot, Kinds, Snapshot, read_baseline, read_run
from gigamind.release.policy import Earlier, GateResult, Policy, Release, Status, Waiver
from gigamind.reports.comparison import release_document
from gigamind.reports.document import Document
from gigamind.reports.experiment import experiment_document
from gigamind.reports.html import render_html
from gigamind.reports.markdown import render_markdown
from gigamind.reports.run import MOST_RUNS, Outcome, failed_document, run_document
from gigamind.reports.verdict import waiver_text


@dataclass(frozen=True, slots=True)
class _JunitCase:
    """One check."""

    name: str  # what was checked
    outcome: Literal["passed", "failed", "skipped", "error"]  # error: not carried out
    message: str  # why it did not pass; figures of a passed check


def _junit_xml(suite: str, cases: Sequence[_JunitCase]) -> str:
    """One test suite as XML text, characters that XML 1.0 forbids left out."""
    counts = Counter(case.outcome for case in cases)
    totals = {"failures": counts["failed"], "errors": counts["error"], "skipped": counts["skipped"]}
    totals = {name: str(count) for name, count in totals.items()}
    root = ET.Element("testsuite", {"name": suite, "tests": str(len(cases))} | totals)
    tags = {"failed": "failure", "error": "error", "skipped": "skipped"}
    for case in cases:
        element = ET.SubElement(root, "testcase", classname=suite, name=_allowed(case.name))
        if case.outcome in tags:
            ET.SubElement(element, tags[case.outcome], message=_allowed(case.message))
        else:
            ET.SubElement(element, "system-out").text = _allowed(case.message)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _allowed(text: str) -> str:
    return "".join(
        c
        for c in text
        if c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff"
    )


_CI_SUMMARY = "GITHUB_STEP_SUMMARY"
_COMPARE_FILE = "compare.md"
_VERDICT_FILE = "compare.json"
WAIVER_FILE = "waiver.json"


def verdict_files(verdict: Release, language: Language, out: Path) -> dict[str, str]:
    """Return compare.md and compare.json of a run in an output folder."""
    page = release_document(verdict, str(out), waivable=str(out))
    text = as_json(verdict, indent=2) + "\n"
    return {_COMPARE_FILE: render_markdown(page, translator(language)), _VERDICT_FILE: text}


def read_verdict(out: Path) -> Release | None:
    """Read the verdict in an output folder, or raise InputError; None without a baseline."""
    file = out / _VERDICT_FILE
    if not file.is_file():
        return None
    try:
        return Release.model_validate_json(file.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(
            "{file}: not written by this version of gigamind ({reason}). Evaluate the run again.",
            file=file,
            reason=reason_of(error) if isinstance(error, OSError) else text_of(error),
        ) from error


@dataclass(frozen=True, slots=True)
class Reference:
    """The baseline and policy of a run, read before it starts so that a wrong path costs no time."""

    baseline: EvalSnapshot[Any, Any]
    policy: Policy
    options: ReleaseOptions
    card: JudgeCard | None = None

    @classmethod
    def of(cls, baseline: EvalSnapshot[Any, Any], options: ReleaseOptions) -> Self:
        """Read the policy and the judge report of the options, or raise InputError."""
        policy = Policy.read(options.gates, options.changed)
        card = read_card(options.judge_card) if options.judge_card else None
        return cls(baseline, policy, options, card)

    @classmethod
    def from_options(cls, options: EvalOptions, kinds: Kinds) -> Self | None:
        """Return the reference for the baseline that the options name; None without one."""
        return options.compare and cls.read(options.compare, options, options.task, kinds)

    @classmethod
    def read(cls, baseline: Path, options: ReleaseOptions, task: str, kinds: Kinds) -> Self:
        """Return the reference for the baseline of a task at that path, or raise InputError."""
        snapshot = read_baseline(baseline, kinds, task)
        snapshot.check_task(task)
        return cls.of(snapshot, options)

    def decide(self, current: EvalSnapshot[Any, Any]) -> Release:
        """Compare a run with the baseline and apply the gates; InputError if tasks or embedding models differ."""
        check_models(self.baseline, current)
        return self.decide_leniently(current)

    def decide_leniently(self, current: EvalSnapshot[Any, Any]) -> Release:
        """Decide as `decide`, but other embedding models give a "not-comparable" verdict."""
        comparison = compare(self.baseline, current)
        gate = judge_release(
            comparison,
            self.policy,
            self.options.phase,
            judge=current.judge,
            before=self.baseline.judge,
            card=self.card,
            languages=tuple(current.metrics.by_language),
        )
        return Release(
            comparison=comparison.published(),
            gate=gate,
            informational=self.options.is_informational,
        )


_EMBEDDER = ("mode", "embedder")  # other embedding models cannot be compared


def last_reference(options: EvalOptions, home: Path, kinds: Kinds) -> Path | None:
    """Return what a scheduled run is compared with for information; None if there is nothing yet.

    The promoted baseline of its dataset, or else the last complete run in `home`.
    """
    try:
        dataset = hashlib.sha256(options.dataset.read_bytes()).hexdigest()
    except OSError:  # reported where the dataset is read
        return None
    chosen = options.for_report()
    wanted = options.task, dataset, *(chosen.get(name) for name in _EMBEDDER)
    runs = sorted(home.iterdir(), reverse=True)[:MOST_RUNS] if home.is_dir() else []
    alike = (run for run in runs if _is_complete(run, options.task, dataset))
    for path in chain([BASELINES], alike):
        with suppress(InputError):
            found = read_baseline(path, kinds, options.task)
            embedder = (found.config.get(name) for name in _EMBEDDER)
            if (found.task, found.dataset_hash, *embedder) == wanted:
                return path
    return None


def _is_complete(out: Path, task: str, dataset: str) -> bool:
    """Return whether a folder has a complete run of the task and dataset; its items are not read."""
    with suppress(InputError):
        run = read_report(out / "run.json", RunReport, "")
        return (run.status, run.task, run.dataset_hash) == ("complete", task, dataset)
    return False


def announce(
    verdict: Release | None,
    options: ReleaseOptions,
    page: Document,
    refused: GigamindError | None = None,
    *,
    language: Language,
    bounds: GateResult | None = None,
    status: str = "complete",
) -> None:
    """Write JUnit XML and the comment if requested, and append to the CI job's summary if CI provides a file.

    Args:
        page: the page of the run; the comment and the job's summary show what comes before its sections.
        refused: why the run counts as failed.
        bounds: verdict of the bounds of a run without a baseline.
        status: of the run, which may have been interrupted.

    Raises:
        InputError: a file cannot be written.
    """
    say = translator(language)
    name = say(_("evaluation"))
    cases = _cases(verdict, say) if verdict else []
    if bounds:
        cases += _rule_cases(bounds, say)
    if refused and not isinstance(refused, BrokenBoundError):  # reported by the bounds
        cases.append(_JunitCase(name, "error", say(refused.message)))
    if options.junit:
        if not cases and status == "complete":  # a job that expects the file must find it
            text = say(_("the metrics were measured; no gate was applied to them"))
            cases.append(_JunitCase(name, "passed", text))
        elif not cases:
            cases.append(_JunitCase(name, "error", say(_("the run was interrupted"))))
        _write(options.junit, _junit_xml(say(_("gigamind release gate")), cases), mode="w")
    summary = os.environ.get(_CI_SUMMARY)
    if options.comment or summary:
        text = render_markdown(page.only("errors"), say, level=3, fold=True)
        if options.comment:
            _write(options.comment, text, mode="w")
        if summary:
            _write(Path(summary), f"{text}\n", mode="a")


@contextmanager
def announcing_failure(options: EvalOptions) -> Generator[None]:
    """Announce an evaluation that fails inside the block, and re-raise its error."""
    try:
        yield
    except GigamindError as error:
        page = failed_document(options.task, error.message, error.exit_code, "")
        announce(None, options, page, error, language=options.language)
        raise


def _write(path: Path, text: str, mode: Literal["w", "a"]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise InputError(
            "{file}: cannot be written ({reason})", file=path, reason=reason_of(error)
        ) from error


_OUTCOMES: dict[Status, Literal["passed", "failed", "skipped", "error"]] = {
    "not-comparable": "error",
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "warned": "skipped",  # "passed" would hide the regression, which the message reports
    "inconclusive": "skipped",  # JUnit has no such outcome; the message says what is missing
}


def _cases(release: Release, say: Translator) -> list[_JunitCase]:
    gate = release.gate
    if gate.is_refused:
        name = say(_("comparable with the baseline"))
        return [_JunitCase(name, "error", " ".join(map(say, gate.reasons)))]
    cases = _rule_cases(gate, say)
    if release.waiver is None:
        return cases
    why = say(waiver_text(release.waiver))
    return [
        replace(case, outcome="skipped", message=f"{why} {case.message}")
        if case.outcome == "failed"
        else case
        for case in cases
    ]


def _rule_cases(gate: GateResult, say: Translator) -> list[_JunitCase]:
    return [
        _JunitCase(rule.metric, _OUTCOMES[rule.status], say(rule.explanation))
        for rule in gate.rules
    ]


def _candidate_of(run: RunReport) -> str:
    """Return a hash of what a run evaluated and how; equal for repeated attempts."""
    settings = conditions(run.options, run.environment, run.judge, run.notes_hash)
    text = json.dumps([run.task, run.dataset_hash, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def with_history(verdict: Release, run: RunReport, out: Path, past: Sequence[PastRun]) -> Release:
    """Return a verdict with the earlier attempts of its candidate and its waiver, from the runs beside `out`.

    Raises:
        InputError: a waiver or verdict of an earlier run cannot be read.
    """
    candidate, home = _candidate_of(run), out.resolve().parent
    own = [home / entry.folder for entry in past if _candidate_of(entry.run) == candidate]
    attempts: list[Earlier] = []
    waiver = _read_waiver(out)
    for folder in own:
        earlier = read_verdict(folder) if folder.name != out.resolve().name else None
        if earlier and earlier.comparison.baseline == verdict.comparison.baseline:
            run_id, gate = earlier.comparison.current.run_id, earlier.gate
            metrics = tuple(rule.metric for rule in gate.failed)
            if not earlier.incomplete:
                attempts.append(Earlier(run_id=run_id, verdict=gate.verdict, metrics=metrics))
            waiver = waiver or _read_waiver(folder)
    applies = waiver if waiver and waiver.covers(verdict.gate, datetime.now(UTC).date()) else None
    return verdict.model_copy(update={"waiver": applies, "attempts": tuple(attempts)})


def _read_waiver(out: Path) -> Waiver | None:
    file = out / WAIVER_FILE
    if not file.is_file():
        return None
    try:
        return Waiver.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else first_problem(error)
        raise InputError(
            "{file} cannot be used: {reason}. Write it again with `gigamind gate waive`.",
            file=file,
            reason=reason,
        ) from error


_Tasks = Mapping[str, Task[Any, Any, Any]]
_REPORT = "report.html"
_LEAST = 2


@dataclass(frozen=True, slots=True)
class _ComparedRuns:
    """The result of a comparison."""

    experiment: Experiment
    runs: tuple[Snapshot, ...]  # the compared runs
    verdict: Release | None  # None if more than two runs were compared
    lang: Language
    paths: tuple[Path, ...]
    # report.html of the second of two runs with the first as baseline; "" if its files are missing.
    report: str = ""
    out: Path | None = None  # output folder of the comparison

    def dump(self) -> dict[str, Any]:
        """Return JSON values: `experiment`, and for two runs `comparison` and `gate`."""
        verdict = self.verdict.model_dump(mode="json") if self.verdict else {}
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
            waivable=self._folder,
        )

    @property
    def _folder(self) -> str:
        return shlex.quote(str(self.out)) if self.out else ""

    def files(self) -> dict[str, str]:
        """Return the output files by name."""
        text = json.dumps(self.dump(), ensure_ascii=False, indent=2, allow_nan=False)
        page = render_html(self.document("#list"), translator(self.lang))
        files = {"compare.html": page, "compare.json": text + "\n"}
        if self.verdict:
            baseline, run = (shlex.quote(str(path)) for path in self.paths)
            page = release_document(self.verdict, run, baseline=baseline, waivable=self._folder)
            files[_COMPARE_FILE] = render_markdown(page, translator(self.lang))
        return files | ({_REPORT: self.report} if self.report else {})


def compare_runs(
    paths: Sequence[Path], options: ReleaseOptions, lang: LanguageChoice, tasks: _Tasks
) -> _ComparedRuns:
    """Compare runs with the first of them; two runs get a verdict, which is announced as the options say.

    Args:
        paths: output folders, snapshots or folders of baselines, at least two.
        lang: of the pages; auto: that of the last run, or of the environment.

    Raises:
        InputError: a run cannot be read, tasks or datasets differ, or gates are requested for more than two runs.
    """
    if len(paths) < _LEAST:
        problem = _(
            "Name at least two runs, such as: gigamind compare runs/a runs/b. The first run is the reference;"
            " the others are compared with it."
        )
        raise InputError(problem)
    gated = options.fail_on_regression or options.junit or options.comment
    if len(paths) > _LEAST and gated:
        problem = _(
            "--fail-on-regression, --junit, --comment: these options need exactly two runs, because gates"
            " compare one run with one baseline. Name two runs, or remove these options."
        )
        raise InputError(problem)
    kinds = {name: task.compared for name, task in tasks.items()}
    last = read_baseline(paths[-1], kinds)
    choice = last.config.get("lang") if lang == "auto" else lang
    language = language_of(str(choice) if choice in LANGUAGES else "auto")
    reference = Reference.read(paths[0], options, last.task, kinds)
    between = [read_baseline(path, kinds, last.task) for path in paths[1:-1]]
    verdict, report, say = None, "", translator(language)
    if not between:
        verdict = reference.decide_leniently(last)
        record = read_run(paths[-1], kinds) if (paths[-1] / "run.json").is_file() else None
        if record:
            past = past_runs(paths[-1], MOST_RUNS)
            verdict = with_history(verdict, record.run, paths[-1], past)
        page = release_document(verdict, str(paths[-1]))
        announce(verdict, options, page, language=language)
        if record:
            outcome = Outcome(verdict, reference.baseline, out=paths[-1])
            report = render_html(run_document(tasks[last.task].view, record, outcome, say), say)
    runs = (reference.baseline, *between, last)
    experiment = compare_with_first([label_of(path) for path in paths], runs)
    return _ComparedRuns(experiment, runs, verdict, language, tuple(paths), report)


def label_of(path: Path) -> str:
    """Return the name of a run: its folder, or its file if that has a name of its own."""
    whole = path.resolve()
    if whole.is_dir():
        return whole.name
    return whole.parent.name if whole.name == FILE else whole.stem
