"""Finish every evaluation: compare the run with its baseline and write the output folder."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypedDict, TypeVar

from pydantic import BaseModel

from gigamind.errors import (
    BrokenBoundError,
    BudgetError,
    EvaluationError,
    GigamindError,
    InputError,
)
from gigamind.evaluation.options import EvalOptions, ModelRunOptions, ReleaseOptions
from gigamind.evaluation.release import (
    Reference,
    announce,
    read_verdict,
    verdict_files,
    with_history,
)
from gigamind.evaluation.shards import HOPELESS, check_unfinished
from gigamind.evaluation.task import Task
from gigamind.i18n import Message, Text, _, joined, n_, translator
from gigamind.metrics.spec import units_of
from gigamind.records.card import read_card
from gigamind.records.folder import PastRun, check_out_folder, past_runs, served_at, write_run
from gigamind.records.judged import LlmReport
from gigamind.records.schema import ErrorReport, Record
from gigamind.release.gates import bounds_gate
from gigamind.release.model import FILE as SNAPSHOT_FILE
from gigamind.release.model import EvalSnapshot, Kinds, read_run
from gigamind.release.policy import GateResult, Policy, Release
from gigamind.release.shortfall import checked_card
from gigamind.reports.document import STATES, Document, Step, Verdict
from gigamind.reports.html import render_html
from gigamind.reports.markdown import render_markdown
from gigamind.reports.run import MOST_RUNS, Outcome, run_document

HTML_FILE = "report.html"
_SUMMARY_FILE = "summary.md"

_Summary = TypeVar("_Summary", bound=BaseModel)
_Line = TypeVar("_Line", bound=BaseModel)


class Evaluated(NamedTuple, Generic[_Summary]):
    """A finished evaluation."""

    summary: _Summary
    out: Path  # its output folder
    verdict: Release | None  # of the release gates; None without a baseline
    bounds: GateResult | None = None  # see `bounds_of`
    page: Document | None = None

    @classmethod
    def read(cls, task: Task[Any, _Summary, Any], out: Path) -> Self | None:
        """Read a run from its folder, or raise InputError; None without summary.json (`--format md`)."""
        file = out / "summary.json"
        if not file.is_file():
            return None
        summary = task.compared.summary.model_validate_json(file.read_bytes())
        return cls(summary, out, read_verdict(out))

    def with_page(self, options: EvalOptions, task: Task[Any, Any, Any], kinds: Kinds) -> Self:
        """Add page (without its list of items) and bounds from the folder, unless `--format md` left out its JSON."""
        out = self.out
        if self.page or not (out / "summary.json").is_file():
            return self
        record = read_run(out, kinds)
        bounds = bounds_of(record, options, partial(task.compared.take_snapshot, record))
        outcome = Outcome(release=self.verdict, bounds=bounds, out=out)
        page = run_document(task.view, record, outcome, translator(options.language), items=False)
        return self._replace(bounds=bounds, page=page)


class Refused(TypedDict):
    """Why a run with an output folder still counts as failed; `exit_code` is that of the error."""

    exit_code: int
    message: str
    over_budget: bool


class FlowResult(TypedDict):
    """A finished evaluation as JSON values.

    Attributes:
        verdict: a word for it, such as "passed"; "" if the figures cannot be trusted.
        headline, page: the verdict in one sentence, and the page as Markdown.
    """

    summary: dict[str, Any]
    verdict: str
    headline: str
    page: str
    release: dict[str, Any] | None  # see `Release`; None without a baseline
    refused: Refused | None  # None if the run succeeded


def check_outputs(options: EvalOptions, out: Path, kinds: Kinds) -> Reference | None:
    """Check, before any work, that the run can be written and, if requested, compared; raise InputError if not."""
    if isinstance(options, ModelRunOptions):
        check_unfinished(out, resume=options.resume is not None)
    check_out_folder(out, replace=_resumes(options))
    if options.judge_card:
        read_card(options.judge_card)
    if options.judge_card or options.gates:
        policy = Policy.read(options.gates)
        is_bound = options.compare or policy.floors or policy.ceilings
        if options.fail_on_regression and not is_bound:
            raise InputError(
                "--fail-on-regression: no baseline, and {file} has neither [floors] nor [ceilings]."
                " Name the baseline, such as --compare eval/baselines.",
                file=options.gates,
            )
    return Reference.from_options(options, kinds)


def _resumes(options: EvalOptions) -> bool:
    return isinstance(options, ModelRunOptions) and options.resume is not None


def finish(
    task: Task[Any, _Summary, _Line],
    record: Record[_Summary, _Line],
    options: EvalOptions,
    out: Path,
    reference: Reference | None,
) -> Evaluated[_Summary]:
    """Write the output folder, with snapshot and comparison if requested, and announce the verdict.

    Raises:
        EvaluationError: the folder cannot be written; or items have no verdict, unless partial results are allowed.
        InputError: the run cannot be compared with the baseline; the folder is written without a comparison.
    """
    finished, refused, _page = _write(_with_card(record, options), task, options, out, reference)
    if refused:
        refused.run = out
        raise refused
    return finished


def _write(
    record: Record[_Summary, _Line],
    task: Task[Any, _Summary, _Line],
    options: EvalOptions,
    out: Path,
    reference: Reference | None,
) -> tuple[Evaluated[_Summary], GigamindError | None, Document]:
    """Write a run; return the result, why the run counts as failed, and its page."""
    verdict = refused = bounds = None
    files: dict[str, str] = {}
    past = past_runs(out, MOST_RUNS, PastRun.of(out.resolve().name, record))
    if record.items:
        take_snapshot = cache(partial(task.compared.take_snapshot, record))
        bounds = bounds_of(record, options, take_snapshot)
        if options.save_snapshot:
            files[SNAPSHOT_FILE] = take_snapshot().file_text()
        if reference and record.run.status == "complete":
            try:
                verdict = with_history(reference.decide(take_snapshot()), record.run, out, past)
            except InputError as error:  # the results are kept even if they cannot be compared
                refused = InputError(
                    "{reason}. The results are in {folder}.", reason=error.message, folder=out
                )
        # Without this option, all items always have a result.
        if refused is None and not getattr(options, "allow_partial", True):
            least = options.min_coverage if isinstance(options, ModelRunOptions) else 0.0
            refused = no_result(task, record, least, out)
        if verdict:
            verdict = verdict.model_copy(update={"incomplete": refused is not None})
            files |= verdict_files(verdict, options.language, out)
    else:
        refused = _empty(record, out)
    outcome = Outcome(
        release=verdict,
        baseline=reference.baseline if reference and verdict else None,
        bounds=bounds,
        refused=refused.message if refused else "",
        past=past,
        out=out,
    )
    say = translator(options.language)
    page = run_document(task.view, record, outcome, say)
    if options.format != "json":
        files[_SUMMARY_FILE] = render_markdown(page, say)
        if record.items:
            files[HTML_FILE] = render_html(page, say)
            address = served_at(out)
            link = Step(_("Open the report"), url=f"{address}{HTML_FILE}")
            page = page.linked(link) if address else page
    write_run(out, record, options.format, files, replace=_resumes(options))
    if refused is None and bounds and bounds.failed and options.fail_on_regression:
        refused = BrokenBoundError(
            "the run is outside the bounds of {file}; see {folder}", file=options.gates, folder=out
        )
    status, language = record.run.status, options.language
    announce(verdict, options, page, refused, language=language, bounds=bounds, status=status)
    return Evaluated(record.summary, out, verdict, bounds, page), refused, page


def bounds_of(
    record: Record[Any, Any],
    options: EvalOptions,
    take_snapshot: Callable[[], EvalSnapshot[Any, Any]],
) -> GateResult | None:
    """Apply the bounds of a --gates file to a run, or raise InputError; None if there is no file, or a baseline."""
    if options.gates is None or options.compare or record.run.status != "complete":
        return None
    return bounds_gate(take_snapshot(), Policy.read(options.gates), options.phase)


def finish_flow(
    task: Task[Any, Any, Any],
    record: Record[Any, Any],
    options: EvalOptions,
    out: Path,
    kinds: Kinds,
) -> FlowResult:
    """Do the same as `finish` for a flow, whose tasks return JSON values; failed runs are published as well."""
    record = _with_card(record, options)
    reference = Reference.from_options(options, kinds)
    finished, refused, page = _write(record, task, options, out, reference)
    say = translator(options.language)
    return {
        "summary": record.summary.model_dump(mode="json"),
        "verdict": say(STATES[page.verdict.state]) if isinstance(page.verdict, Verdict) else "",
        "headline": say(page.headline),
        "page": render_markdown(page.only(*_PUBLISHED), say, plots=True),
        "release": finished.verdict.model_dump(mode="json") if finished.verdict else None,
        "refused": refused
        and {
            "exit_code": refused.exit_code,
            "message": say(refused.message),
            "over_budget": isinstance(refused, BudgetError),
        },
    }


_PUBLISHED = ("trend", "errors", "cost")
"""The sections of a run's page that Prefect's UI shows."""


def _with_card(record: Record[_Summary, _Line], options: ReleaseOptions) -> Record[_Summary, _Line]:
    if not options.judge_card:
        return record
    card, policy = read_card(options.judge_card), Policy.read(options.gates)
    summary: Any = record.summary
    languages = tuple(summary.by_language)
    checked = checked_card(card, policy, options.phase, record.run.task, languages)
    return replace(record, card=checked)


def no_result(
    task: Task[Any, _Summary, _Line], record: Record[_Summary, _Line], least: float, out: Path
) -> EvaluationError | None:
    """Return why a run counts as failed unless partial results are allowed; `least` is the minimum coverage."""
    why = task.shortfall(record) if record.run.status == "complete" else None
    if not why:
        return _partial(record, least, out)
    return EvaluationError(
        "{reason}. See {folder}, or accept partial results with --allow-partial.",
        reason=why,
        folder=out,
    )


def _empty(record: Record[Any, Any], out: Path) -> EvaluationError | None:
    if record.run.status != "complete":
        return None
    return EvaluationError(
        "all {units} failed. The first error: {reason}. All errors are in {file}.",
        units=units_of(record.run.task),
        reason=first_failure(record),
        file=out / "errors.jsonl",
    )


def first_failure(record: Record[Any, Any]) -> Text:
    """Return the error of the first failed item."""
    errors = (error.message for error in record.errors if error.kind == "item")
    return next(errors, _("the run has no items"))


def _partial(record: Record[Any, Any], least: float, out: Path) -> EvaluationError | None:
    """Return an error if budget or key left items unjudged, because the figures then do not cover the dataset."""
    if record.llm is None or record.run.status != "complete":
        return None
    units = units_of(record.run.task)
    unjudged = (error for error in record.errors if error.kind in {"verdict", "check"})
    if hopeless := [error for error in unjudged if error.error in HOPELESS]:
        kinds = Counter(error.kind for error in hopeless)
        return EvaluationError(
            "{items} have no verdict: {reason} ({code}). Fix the cause and resume with --resume {folder},"
            " or accept partial results with --allow-partial.",
            items=_counted(record.llm, units, kinds["verdict"], kinds["check"]),
            reason=hopeless[0].message,
            code=hopeless[0].error,
            folder=out,
        )
    parts = (record.llm, record.llm.checks)
    skipped = [part.outcomes.get("skipped_budget", 0) if part else 0 for part in parts]
    if any(skipped):
        return BudgetError(
            "the budget was too small for {items}. Raise it and resume with --resume {folder},"
            " or accept partial results with --allow-partial.",
            items=_counted(record.llm, units, *skipped),
            folder=out,
        )
    return _sparse(record, least, record.llm, out)


def _sparse(
    record: Record[Any, Any], least: float, llm: LlmReport, out: Path
) -> EvaluationError | None:
    """Return an error if coverage is below `least`, because the verdicts then do not represent the dataset."""
    units = units_of(record.run.task)
    named = units if llm.checks is None else _("evaluations")
    for part, part_units in ((llm, named), (llm.checks, _("checklist checks"))):
        if part is None:
            continue
        if not part.items:
            return EvaluationError(
                "none of the {units} could be judged; see {folder}", units=units, folder=out
            )
        scored = part.outcomes.get("scored", 0)
        if scored < least * part.items:
            kind = "verdict" if part is llm else "check"
            errors = [error for error in record.errors if error.kind == kind]
            return EvaluationError(
                "only {scored:,} of {total:,} {units} succeeded, less than the required share of {least:g}"
                " (--min-coverage).{cause} See {folder}, use another model, or accept partial results with"
                " --allow-partial.",
                scored=scored,
                total=part.items,
                units=part_units,
                least=least,
                cause=_main_cause(errors),
                folder=out,
            )
    return None


def _main_cause(errors: Sequence[ErrorReport]) -> Text:
    if not errors:
        return ""
    code, count = Counter(error.error for error in errors).most_common(1)[0]
    first = next(error for error in errors if error.error == code)
    return n_(
        " The most frequent error ({code}, {n} time): {reason}.",
        " The most frequent error ({code}, {n:,} times): {reason}.",
        n=count,
        code=code,
        reason=first.message,
    )


def _counted(llm: LlmReport, units: Message, judged: int, checked: int) -> Message:
    parts = [(judged, llm.items, units)]
    if llm.checks is not None:
        parts = [
            (judged, llm.items, _("evaluations")),
            (checked, llm.checks.items, _("checklist checks")),
        ]
    texts = (
        _("{count:,} of {total:,} {units}", count=count, total=total, units=named)
        for count, total, named in parts
        if count or llm.checks is None
    )
    return joined(texts, ", ")
