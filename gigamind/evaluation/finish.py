"""The last step of every evaluation: hold the run against its baseline, and write the out folder."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

from pydantic import BaseModel

from gigamind.choices import TaskName
from gigamind.errors import (
    BrokenBoundError,
    BudgetError,
    EvaluationError,
    GigamindError,
    InputError,
)
from gigamind.evaluation.options import EvalOptions, ModelRunOptions, PartialOptions, ReleaseOptions
from gigamind.evaluation.release import (
    COMPARE_FILE,
    Reference,
    ReleaseVerdict,
    announce,
    read_reference,
    read_verdict,
)
from gigamind.evaluation.task import Task
from gigamind.evaluation.unfinished import HOPELESS, check_unfinished
from gigamind.metrics.spec import unit_of, units_of
from gigamind.records.card import read_card
from gigamind.records.folder import check_out_folder, served_at, write_run
from gigamind.records.history import past_runs
from gigamind.records.judged import LlmReport
from gigamind.records.schema import ErrorReport, Record
from gigamind.release.gates import bounds_gate
from gigamind.release.model import FILE as SNAPSHOT_FILE
from gigamind.release.model import EvalSnapshot
from gigamind.release.policy import GateResult, read_policy
from gigamind.release.shortfall import held_card, judged_languages
from gigamind.release.snapshot import Kinds, read_run, snapshot_text
from gigamind.reports.decision import MOST_RUNS, Place, brief, decide
from gigamind.reports.release import missed_bounds, with_bounds, with_section
from gigamind.wording import Language, Words, words

HTML_FILE = "report.html"
SUMMARY_FILE = "summary.md"

Summary = TypeVar("Summary", bound=BaseModel)
Line = TypeVar("Line", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Outputs:
    """The part of the options that writing takes.

    Attributes:
        figures: whether the report's figures are written as files, too.
        replaces: whether the folder is that of the run that is being resumed.
    """

    format: Literal["json", "md", "both"]
    lang: Language
    figures: bool
    save_snapshot: bool
    replaces: bool

    @classmethod
    def of(cls, options: EvalOptions) -> "Outputs":
        """The part of these options."""
        replaces = isinstance(options, ModelRunOptions) and options.resume is not None
        figures = options.figures is not None
        return cls(options.format, options.language, figures, options.save_snapshot, replaces)


class Evaluated(NamedTuple, Generic[Summary]):
    """A finished evaluation.

    Attributes:
        out: the folder it was written to.
        verdict: of the release gates; None where the run was compared with nothing.
    """

    summary: Summary
    out: Path
    verdict: ReleaseVerdict | None


def read_bounds(out: Path, options: EvalOptions, kinds: Kinds) -> GateResult | None:
    """What `bounds_of` says of the run in that folder; None, too, where `--format md` left out its JSON."""
    if options.gates is None or options.compare or not (out / "per_item.jsonl").is_file():
        return None
    record = read_run(out, kinds)
    return bounds_of(kinds[record.run.task].take_snapshot(record), record.run.status, options)


def read_finished(task: Task[Any, Summary, Any], out: Path) -> Evaluated[Summary] | None:
    """A run by its out folder; None where that holds no summary.json, which `--format md` leaves out.

    Raises:
        InputError: its verdict cannot be read.
    """
    file = out / "summary.json"
    if not file.is_file():
        return None
    summary = task.compared.summary.model_validate_json(file.read_bytes())
    return Evaluated(summary, out, read_verdict(out))


class Refused(TypedDict):
    """Why a run whose out folder stands is no result all the same; `exit_code` tells the kind of error."""

    exit_code: int
    message: str
    over_budget: bool


class FlowResult(TypedDict):
    """A finished evaluation as JSON values.

    Attributes:
        headline, page: how it ended and why, in a line, and the page of it: see `reports.decision`.
        release: see `ReleaseVerdict.dump`; None where the run was compared with nothing.
        refused: None where the run is a result.
    """

    task: TaskName
    summary: dict[str, Any]
    run_id: str
    headline: str
    page: str
    release: dict[str, Any] | None
    refused: Refused | None


def check_outputs(options: EvalOptions, out: Path, kinds: Kinds) -> Reference | None:
    """See to it, before any work is done, that the run can be written, and compared where that is asked for.

    Raises:
        InputError: it cannot.
    """
    replaces = Outputs.of(options).replaces
    if isinstance(options, ModelRunOptions):
        check_unfinished(out, resume=replaces)
    check_out_folder(out, replace=replaces)
    if options.judge_card:
        read_card(options.judge_card)
    if options.judge_card or options.gates:
        policy = read_policy(options.gates)
        if options.fail_on_regression and not options.compare and not policy.bounds:
            raise InputError(
                f"--fail-on-regression: nothing is compared, and {options.gates} has no [floors] and no [ceilings] to"
                " hold the run by; name the baseline, such as --compare eval/baselines"
            )
    return _reference(options, kinds)


def finish(
    task: Task[Any, Summary, Line],
    record: Record[Summary, Line],
    options: EvalOptions,
    out: Path,
    reference: Reference | None,
) -> Evaluated[Summary]:
    """Write the out folder, with snapshot and comparison where asked for, and announce the verdict.

    Raises:
        EvaluationError: the folder cannot be written; or every item failed, or the budget left some unjudged, or too
            many have no verdict, and that was not allowed (the folder stands and says why).
        InputError: the run cannot be compared with the baseline; the folder stands, without a comparison.
    """
    written = _write(_with_card(record, options), task, options, out, reference)
    if written.refused:
        written.refused.run = out
        raise written.refused
    return Evaluated(record.summary, out, written.verdict)


@dataclass(frozen=True, slots=True)
class _Written:
    """What became of a run whose out folder stands: the gates' verdict, or its bounds', and why it is no result."""

    verdict: ReleaseVerdict | None
    refused: GigamindError | None
    bounds: GateResult | None = None


def _write(
    record: Record[Summary, Line],
    task: Task[Any, Summary, Line],
    options: EvalOptions,
    out: Path,
    reference: Reference | None,
) -> _Written:
    outputs = Outputs.of(options)
    if not record.items:
        files = _texts(task, record, outputs)
        write_run(out, record, outputs.format, files, replace=outputs.replaces)
        empty = _empty(record, out)
        _announce(record, options, None, empty)
        return _Written(None, empty)
    snapshot = task.compared.take_snapshot(record)
    bounds = bounds_of(snapshot, record.run.status, options)
    broken = missed_bounds(bounds, words(outputs.lang))
    run = record.run.model_copy(update={"warnings": (*broken, *record.run.warnings)})
    record = replace(record, run=run)
    files = _texts(task, record, outputs)
    if outputs.save_snapshot:
        files[SNAPSHOT_FILE] = snapshot_text(snapshot)
    verdict = refused = None
    if reference and record.run.status == "complete":
        try:
            verdict = reference.judge(snapshot)
        except InputError as error:  # what was measured is kept, even where it cannot be compared
            refused = InputError(f"{error}; the run itself is kept in {out}")
        else:
            files |= verdict.files(outputs.lang)
    if SUMMARY_FILE in files:
        files[SUMMARY_FILE] = _decided(files[SUMMARY_FILE], verdict, bounds, words(outputs.lang))
        files[HTML_FILE] = _page(task, record, outputs.lang, reference, verdict or bounds)
    write_run(out, record, outputs.format, files, replace=outputs.replaces)
    if refused is None and isinstance(options, PartialOptions) and not options.allow_partial:
        least = options.min_coverage if isinstance(options, ModelRunOptions) else 0.0
        refused = no_result(task, record, least, out)
    if refused is None and bounds and bounds.failed and options.fail_on_regression:
        refused = BrokenBoundError(f"the run misses what {options.gates} asks of it; see {out}")
    _announce(record, options, verdict, refused, bounds)
    return _Written(verdict, refused, bounds)


def bounds_of(
    snapshot: EvalSnapshot[Any, Any], status: str, options: EvalOptions
) -> GateResult | None:
    """What the floors and ceilings of a file of --gates say of a run; None where there are none, or a baseline.

    Raises:
        InputError: the file cannot be used.
    """
    if options.gates is None or options.compare or status != "complete":
        return None
    return bounds_gate(snapshot, read_policy(options.gates), options.phase)


def _announce(
    record: Record[Any, Any],
    options: EvalOptions,
    verdict: ReleaseVerdict | None,
    refused: GigamindError | None,
    bounds: GateResult | None = None,
) -> None:
    summary = partial(
        brief,
        record.run.task,
        verdict.release if verdict else None,
        words(options.language),
        part=record.summary.overall if record.items else None,
        refused=str(refused) if refused else None,
        status=record.run.status,
        bounds=bounds,
    )
    announce(
        verdict,
        options,
        summary,
        refused,
        options.language,
        bounds=bounds,
        status=record.run.status,
    )


def finish_flow(
    task: Task[Any, Any, Any],
    record: Record[Any, Any],
    options: EvalOptions,
    out: Path,
    kinds: Kinds,
) -> FlowResult:
    """The same for a flow, whose tasks give JSON values, and which publishes a run that is no result, too.

    Raises:
        EvaluationError: the folder cannot be written.
    """
    record = _with_card(record, options)
    written = _write(record, task, options, out, _reference(options, kinds))
    verdict, refused = written.verdict, written.refused
    page = decide(
        record,
        task.view,
        words(options.language),
        release=verdict.release if verdict else None,
        refused=str(refused) if refused else None,
        bounds=written.bounds,
        past=past_runs(out, MOST_RUNS),
        place=Place(out.absolute(), _links(out)),
    )
    return {
        "task": record.run.task,
        "summary": record.summary.model_dump(mode="json"),
        "run_id": record.run.run_id,
        "headline": page.headline,
        "page": page.markdown,
        "release": verdict.dump() if verdict else None,
        "refused": _refused(refused) if refused else None,
    }


def _links(out: Path) -> dict[str, str]:
    """Where the pages of a run are served, by name; with `--format json`, or without an item, there is no report."""
    address = served_at(out)
    pages = [name for name in (HTML_FILE, COMPARE_FILE) if (out / name).is_file()]
    return {name: f"{address}{name}" for name in pages} if address else {}


def _refused(error: GigamindError) -> Refused:
    return {
        "exit_code": error.exit_code,
        "message": str(error),
        "over_budget": isinstance(error, BudgetError),
    }


def _with_card(record: Record[Summary, Line], options: ReleaseOptions) -> Record[Summary, Line]:
    """The record with the card of its judge, if there is one, held to what the gates of the options ask."""
    if not options.judge_card:
        return record
    policy = read_policy(options.gates)
    languages = judged_languages(record.summary)
    card = read_card(options.judge_card)
    return replace(record, card=held_card(card, policy, options.phase, record.run.task, languages))


def _reference(options: EvalOptions, kinds: Kinds) -> Reference | None:
    return (
        read_reference(options.compare, options, options.task, kinds) if options.compare else None
    )


def _texts(
    task: Task[Any, Summary, Line], record: Record[Summary, Line], outputs: Outputs
) -> dict[str, str]:
    """What is written beside the record, but for what needs a comparison."""
    files = (
        {SUMMARY_FILE: task.view.markdown(record, outputs.lang)} if outputs.format != "json" else {}
    )
    files |= task.view.files(record)
    if outputs.figures and record.items:
        from gigamind.reports.page.svg import svg_file

        charts = task.view.charts(record)
        files |= {f"figures/{name}.svg": svg_file(chart) for name, chart in charts.items()}
    return files


def _decided(
    summary: str, verdict: ReleaseVerdict | None, bounds: GateResult | None, say: Words
) -> str:
    """summary.md with what the gates say, where they say anything."""
    if verdict:
        return with_section(summary, verdict.release, say)
    return with_bounds(summary, bounds, say) if bounds else summary


def _page(
    task: Task[Any, Any, Any],
    record: Record[Any, Any],
    lang: Language,
    reference: Reference | None,
    held: ReleaseVerdict | GateResult | None,
) -> str:
    compared = isinstance(held, ReleaseVerdict)
    baseline = reference.baseline if reference and compared else None
    gate = held.gate if compared else held
    return task.view.page(record, lang=lang, baseline=baseline, gate=gate)


def no_result(
    task: Task[Any, Summary, Line], record: Record[Summary, Line], least: float, out: Path
) -> EvaluationError | None:
    """Why a run is no result, unless a part is asked for; `least` is the share of items that must have a verdict."""
    return _short(task, record, out) or _partial(record, least, out)


def _short(
    task: Task[Any, Summary, Line], record: Record[Summary, Line], out: Path
) -> EvaluationError | None:
    why = task.shortfall(record) if record.run.status == "complete" else None
    return (
        EvaluationError(f"{why}; see {out}, or take the part with --allow-partial") if why else None
    )


def _empty(record: Record[Any, Any], out: Path) -> EvaluationError | None:
    if record.run.status != "complete":
        return None
    unit, file = unit_of(record.run.task), out / "errors.jsonl"
    return EvaluationError(
        f"every {unit} failed, the first so: {first_failure(record)}; see {file}"
    )


def first_failure(record: Record[Any, Any]) -> str:
    """Why the first item that failed did."""
    return next((error.message for error in record.errors if error.kind == "item"), "there is none")


def _partial(record: Record[Any, Any], least: float, out: Path) -> EvaluationError | None:
    """A figure over what budget and key allowed is no figure of the dataset, unless that is said to be enough."""
    if record.llm is None or record.run.status != "complete":
        return None
    units = units_of(record.run.task)
    hopeless = [
        error
        for error in record.errors
        if error.kind in {"verdict", "check"} and error.error in HOPELESS
    ]
    if hopeless:
        kinds = Counter(error.kind for error in hopeless)
        why = f"{hopeless[0].message} ({hopeless[0].error})"
        return EvaluationError(
            f"{_counted(record.llm, units, kinds['verdict'], kinds['check'])} have no verdict: {why}; see {out},"
            f" mend that and continue with --resume {out}, or take the part with --allow-partial"
        )
    checks = record.llm.checks
    skipped = [
        part.outcomes.get("skipped_budget", 0) if part else 0 for part in (record.llm, checks)
    ]
    if any(skipped):
        return BudgetError(
            f"the budget left {_counted(record.llm, units, *skipped)} {'undone' if checks else 'unjudged'}: see {out};"
            f" raise it and continue with --resume {out}, or take the part with --allow-partial"
        )
    return _sparse(record, least, record.llm, out)


def _sparse(
    record: Record[Any, Any], least: float, llm: LlmReport, out: Path
) -> EvaluationError | None:
    """So few verdicts say nothing of the dataset, and a pipeline must not take them for a result."""
    units = units_of(record.run.task)
    named = units if llm.checks is None else "evaluations"
    for part, what in ((llm, named), (llm.checks, "checks")):
        if part is None:
            continue
        if not part.items:
            return EvaluationError(f"none of the {units} could be judged: see {out}")
        scored = part.outcomes.get("scored", 0)
        if scored < least * part.items:
            kind = "verdict" if part is llm else "check"
            commonest = _commonest([error for error in record.errors if error.kind == kind])
            return EvaluationError(
                f"only {scored} of {part.items} {what} could be had, and --min-coverage is {least:g}{commonest};"
                f" see {out}, ask another model, or take the part with --allow-partial"
            )
    return None


def _commonest(errors: Sequence[ErrorReport]) -> str:
    """Why most of them failed, in the words of the first."""
    if not errors:
        return ""
    code, count = Counter(error.error for error in errors).most_common(1)[0]
    first = next(error for error in errors if error.error == code)
    return f"; {count} of the others failed alike: {first.message} ({code})"


def _counted(llm: LlmReport, units: str, judged: int, checked: int) -> str:
    """So many of all items; where answers are checked, too, of the evaluations and of the checks apart."""
    if llm.checks is None:
        return f"{judged} of {llm.items} {units}"
    parts = ((judged, llm.items, "evaluations"), (checked, llm.checks.items, "checks"))
    return " and ".join(f"{count} of {of} {what}" for count, of, what in parts if count)
