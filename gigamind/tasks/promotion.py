"""Make a run the baseline if its gates passed, or accept its failed gates with a waiver."""

import shlex
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gigamind.datasets.write import write_text
from gigamind.errors import GigamindError, InputError
from gigamind.evaluation.finish import no_result
from gigamind.evaluation.release import WAIVER_FILE, read_verdict, verdict_files
from gigamind.evaluation.retention import finished_runs
from gigamind.i18n import Text, _, translator
from gigamind.records.card import JudgeCard
from gigamind.records.folder import rewrite_texts
from gigamind.records.schema import Record
from gigamind.release.gates import at_worst
from gigamind.release.model import EvalSnapshot, read_baseline, read_run, read_snapshot
from gigamind.release.policy import Policy, Release, Waiver
from gigamind.release.shortfall import checked_card
from gigamind.reports.html import render_html
from gigamind.reports.markdown import render_markdown
from gigamind.reports.run import Outcome, run_document
from gigamind.reports.verdict import release_verdict
from gigamind.tasks import KINDS, TASKS

_RUN_FILE = "run.json"


class PromoteOptions(BaseModel):
    """Which run becomes the baseline, and where."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Path = Field(
        description="output folder of a run, or a folder of runs (the latest run is used); the run must be complete"
    )
    folder: Path = Field(description="folder of baselines, as in --compare")


def promote_run(options: PromoteOptions) -> tuple[Path, list[str]]:
    """Make the run the baseline of its task; InputError if a gate failed, or it is missing, incomplete or unusable.

    Returns what `promote` returns.
    """
    is_run = (options.run / _RUN_FILE).is_file()
    runs = [] if is_run else finished_runs(options.run)
    run = runs[0].folder if runs else options.run
    refuse_failed(run, options.folder)
    # So that no trial run becomes the baseline by accident.
    if not is_run and (run / _RUN_FILE).is_file() and (why := _why_incomplete(run)):
        raise InputError(
            "{run}: the latest run cannot become the baseline: {reason}. To promote this run anyway, or to"
            " promote another run, pass that run's own folder.",
            run=run,
            reason=why,
        )
    return promote(run, options.folder)


def promote(run: Path, folder: Path) -> tuple[Path, list[str]]:
    """Make a run the baseline of its task without checking its gates; InputError if it cannot be one.

    Return the new baseline, and the gated metrics that are at their worst possible value, so that the gate cannot
    detect a regression.
    """
    snapshot = read_snapshot(run, KINDS)
    return snapshot.promote(folder), at_worst(snapshot, Policy.read(None))


def refuse_failed(run: Path, folder: Path) -> None:
    """Raise InputError if a run (its out folder or snapshot.json) failed, waived or not, or is not comparable."""
    verdict = read_verdict(run if run.is_dir() else run.parent)
    if verdict and verdict.gate.verdict in {"failed", "not-comparable"}:
        raise InputError(
            "{run}: this run cannot become the baseline. {reason} To promote it anyway, use gigamind baseline"
            " promote {run} --folder {folder} --force",
            run=shlex.quote(str(run)),
            reason=release_verdict(verdict).sentence,
            folder=shlex.quote(str(folder)),
        )


def _why_incomplete(run: Path) -> Text | None:
    record = read_run(run, KINDS)
    options, verdict = record.run.options, read_verdict(run)
    if record.run.status != "complete":
        return _("the run was interrupted before its end")
    if options.get("sample") is not None:
        return _("the run evaluated only a sample ({sample})", sample=options["sample"])
    if verdict is None and options.get("compare"):
        return _("the run ended without a verdict")
    if options.get("allow_partial"):
        return None
    coverage = options.get("min_coverage")
    least = coverage if isinstance(coverage, float) else 0.0
    short = no_result(TASKS[record.run.task], record, least, run)
    return short.message if short else None


def waive_run(run: Path, *, reason: str, until: date, by: str) -> Waiver:
    """Write a waiver for the failed gates of a run, and its pages again.

    Raises:
        InputError: the run has no failed gate, or the date is over.
        EvaluationError: a file cannot be written.
    """
    verdict = read_verdict(run)
    if verdict is None or not verdict.gate.failed:
        raise InputError(
            "{folder}: no failed gate. Name the output folder of a run that was compared and failed.",
            folder=run,
        )
    now = datetime.now(UTC)
    if until < now.date():
        raise InputError(
            "--until {until}: the date is over. Name a later date.", until=until.isoformat()
        )
    waiver = Waiver(
        run_id=verdict.comparison.current.run_id,
        baseline=verdict.comparison.baseline.run_id,
        created_at=now.isoformat(timespec="seconds"),
        reason=reason,
        until=until,
        by=by,
        metrics=tuple(rule.metric for rule in verdict.gate.failed),
    )
    write_text(run / WAIVER_FILE, waiver.model_dump_json(indent=2) + "\n")
    verdict = verdict.model_copy(update={"waiver": waiver})
    lang, files = _pages(run, verdict) if (run / "per_item.jsonl").is_file() else ("en", {})
    rewrite_texts(run, verdict_files(verdict, lang, run) | files)
    return waiver


def add_card(run: Path, card: JudgeCard) -> None:
    """Write the pages of a run again, with what a judge report says about its judge and its corrected figures."""
    if (run / "report.html").is_file():
        _lang, files = _pages(run, read_verdict(run), card)
        rewrite_texts(run, files)


def _pages(
    run: Path, verdict: Release | None, card: JudgeCard | None = None
) -> tuple[str, dict[str, str]]:
    """Return the language of a run, and the pages that it has, name -> new text."""
    record = read_run(run, KINDS)
    if card:
        policy, languages = Policy.read(None), tuple(record.summary.by_language)
        checked = checked_card(card, policy, "mvp", record.run.task, languages)
        record = replace(record, card=checked)
    lang = str(record.run.options.get("lang", "en"))
    say = translator(lang)
    baseline = _baseline_of(record, verdict) if verdict else None
    outcome = Outcome(verdict, baseline, out=run)
    page = run_document(TASKS[record.run.task].view, record, outcome, say)
    files = {"summary.md": render_markdown(page, say), "report.html": render_html(page, say)}
    return lang, {name: text for name, text in files.items() if (run / name).is_file()}


def _baseline_of(record: Record[Any, Any], verdict: Release) -> EvalSnapshot[Any, Any] | None:
    """Return the baseline that a run was compared with, if it is still where it was."""
    try:
        baseline = read_baseline(Path(str(record.run.options["compare"])), KINDS, record.run.task)
    except (GigamindError, KeyError):
        return None
    return baseline if baseline.run_id == verdict.comparison.baseline.run_id else None
