"""The last step of an evaluation: hold the run against its baseline, and write the out folder."""

from pathlib import Path
from typing import NamedTuple

from gigamind.errors import EvaluationError, InputError
from gigamind.evals.options import SearchEvalOptions
from gigamind.evals.release import Reference, ReleaseVerdict, announce, read_reference
from gigamind.reports.release.snapshot import FILE as SNAPSHOT_FILE
from gigamind.reports.release.snapshot import take_snapshot
from gigamind.reports.schema import RunRecord, SummaryReport
from gigamind.reports.write import check_out_folder, write_run

HTML_FILE = "report.html"


class Evaluated(NamedTuple):
    """A finished evaluation.

    Attributes:
        out: the folder it was written to.
        verdict: of the release gates; None where the run was compared with nothing.
    """

    summary: SummaryReport
    out: Path
    verdict: ReleaseVerdict | None


def check_outputs(options: SearchEvalOptions, out: Path) -> Reference | None:
    """See to it, before any work is done, that the run can be written, and compared where that is asked for.

    Raises:
        InputError: it cannot.
    """
    if options.resume and options.out not in {None, options.resume}:
        raise InputError("--out: a resumed run is written where --resume says; leave it out")
    check_out_folder(out, replace=options.resume is not None)
    return read_reference(options.compare, options) if options.compare else None


def finish(
    record: RunRecord, options: SearchEvalOptions, out: Path, reference: Reference | None
) -> Evaluated:
    """Write the out folder, with snapshot and comparison where asked for, and announce the verdict.

    Raises:
        EvaluationError: the folder cannot be written; or every query failed, or the budget left some unjudged and
            that was not allowed (the folder stands and says why).
        InputError: the run cannot be compared with the baseline; the folder stands, without a comparison.
    """
    if not record.items:
        write_run(out, record, options.format, replace=options.resume is not None)
        _refuse_empty(record.summary, out)
        return Evaluated(record.summary, out, None)
    snapshot = take_snapshot(record)
    files: dict[str, str] = {}
    if options.save_snapshot:
        files[SNAPSHOT_FILE] = snapshot.model_dump_json(indent=2) + "\n"
    verdict = None
    try:
        if reference and record.summary.status == "complete":
            verdict = reference.judge(snapshot)
            files |= verdict.files()
        if options.format != "json":
            files[HTML_FILE] = _page(record, options, reference, verdict)
    finally:  # what was measured is kept, even where it cannot be compared
        write_run(
            out, record, options.format, files, options.figures, replace=options.resume is not None
        )
    if verdict:
        announce(verdict, options.junit)
    _refuse_partial(record.summary, options, out)
    return Evaluated(record.summary, out, verdict)


def _page(
    record: RunRecord,
    options: SearchEvalOptions,
    reference: Reference | None,
    verdict: ReleaseVerdict | None,
) -> str:
    from gigamind.reports.page.html import render_html

    if reference is None or verdict is None:
        return render_html(record, lang=options.lang)
    return render_html(record, lang=options.lang, baseline=reference.baseline, gate=verdict.gate)


def _refuse_empty(summary: SummaryReport, out: Path) -> None:
    if summary.status == "complete":
        raise EvaluationError(f"every query failed: see {out / 'errors.jsonl'}")


def _refuse_partial(summary: SummaryReport, options: SearchEvalOptions, out: Path) -> None:
    skipped = summary.llm.outcomes.get("skipped_budget", 0) if summary.llm else 0
    if skipped and summary.status == "complete" and not options.allow_partial:
        raise EvaluationError(
            f"the budget left {skipped} of {summary.counts.queries_total} queries unjudged: see {out};"
            f" raise it and continue with --resume {out}, or take the part with --allow-partial"
        )
