"""The last step of every evaluation: hold the run against its baseline, and write the out folder."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from gigamind.errors import EvaluationError
from gigamind.evals.model_options import ModelRunOptions
from gigamind.evals.model_run import HOPELESS, check_unfinished
from gigamind.evals.release import Reference, ReleaseVerdict, announce, read_reference
from gigamind.evals.run_options import EvalOptions
from gigamind.reports.cards.schema import read_card
from gigamind.reports.judged import LlmReport
from gigamind.reports.release.cards import held_card, judged_languages
from gigamind.reports.release.model import FILE as SNAPSHOT_FILE
from gigamind.reports.release.policy import read_policy
from gigamind.reports.release.snapshot import take_snapshot
from gigamind.reports.release.tasks import TASKS
from gigamind.reports.schema import ErrorReport, Record
from gigamind.reports.views import VIEWS
from gigamind.reports.write import check_out_folder, write_run

HTML_FILE = "report.html"

Summary = TypeVar("Summary")
Line = TypeVar("Line")


class Evaluated(NamedTuple, Generic[Summary]):
    """A finished evaluation.

    Attributes:
        out: the folder it was written to.
        verdict: of the release gates; None where the run was compared with nothing.
    """

    summary: Summary
    out: Path
    verdict: ReleaseVerdict | None


def check_outputs(options: EvalOptions, out: Path) -> Reference | None:
    """See to it, before any work is done, that the run can be written, and compared where that is asked for.

    Raises:
        InputError: it cannot.
    """
    if isinstance(options, ModelRunOptions):
        check_unfinished(out, resume=_resumes(options))
    check_out_folder(out, replace=_resumes(options))
    if options.judge_card:
        read_card(options.judge_card)
        read_policy(options.gates, options.phase)
    return _reference(options)


def finish(
    record: Record[Summary, Any], options: EvalOptions, out: Path, reference: Reference | None
) -> Evaluated[Summary]:
    """Write the out folder, with snapshot and comparison where asked for, and announce the verdict.

    Raises:
        EvaluationError: the folder cannot be written; or every item failed, or the budget left some unjudged, or too
            many have no verdict, and that was not allowed (the folder stands and says why).
        InputError: the run cannot be compared with the baseline; the folder stands, without a comparison.
    """
    record = _with_card(record, options)
    if not record.items:
        write_run(out, record, options.format, replace=_resumes(options))
        _refuse_empty(record, out)
        return Evaluated(record.summary, out, None)
    snapshot = take_snapshot(record)
    files: dict[str, str] = {}
    if options.save_snapshot:
        files[SNAPSHOT_FILE] = snapshot.model_dump_json(indent=2) + "\n"
    verdict = None
    try:
        if reference and record.run.status == "complete":
            verdict = reference.judge(snapshot)
            files |= verdict.files()
        if options.format != "json":
            files[HTML_FILE] = _page(record, options, reference, verdict)
    finally:  # what was measured is kept, even where it cannot be compared
        write_run(out, record, options.format, files, options.figures, replace=_resumes(options))
    if verdict:
        announce(verdict, options.junit)
    _refuse_partial(record, options, out)
    return Evaluated(record.summary, out, verdict)


def finish_flow(record: Record[Any, Any], options: EvalOptions, out: Path) -> dict[str, Any]:
    """The same for a flow, whose tasks give JSON values.

    Returns `task`, `summary`, `run_id`, and `markdown`: the text of summary.md; where the run was compared, `release`
    (see `ReleaseVerdict.dump`) and `release_markdown`, else None for both.

    Raises:
        GigamindError: see `finish`.
    """
    record = _with_card(record, options)
    verdict = finish(record, options, out, _reference(options)).verdict
    return {
        "task": record.run.task,
        "summary": record.summary.model_dump(mode="json"),
        "run_id": record.run.run_id,
        "markdown": VIEWS[record.run.task].markdown(record),
        "release": verdict.dump() if verdict else None,
        "release_markdown": verdict.markdown() if verdict else None,
    }


def _with_card(record: Record[Summary, Line], options: EvalOptions) -> Record[Summary, Line]:
    """The record with the card of its judge, if there is one, held to what the gates of the options ask."""
    if not options.judge_card:
        return record
    policy = read_policy(options.gates, options.phase)
    languages = judged_languages(record.summary)
    card = read_card(options.judge_card)
    return replace(record, card=held_card(card, policy, options.phase, record.run.task, languages))


def _reference(options: EvalOptions) -> Reference | None:
    return read_reference(options.compare, options, options.task) if options.compare else None


def _page(
    record: Record[Any, Any],
    options: EvalOptions,
    reference: Reference | None,
    verdict: ReleaseVerdict | None,
) -> str:
    baseline = reference.baseline if reference and verdict else None
    gate = verdict.gate if verdict else None
    return VIEWS[record.run.task].page(record, lang=options.lang, baseline=baseline, gate=gate)


def _refuse_empty(record: Record[Any, Any], out: Path) -> None:
    if record.run.status == "complete":
        unit = TASKS[record.run.task].unit
        raise EvaluationError(f"every {unit} failed: see {out / 'errors.jsonl'}")


def _resumes(options: EvalOptions) -> bool:
    return isinstance(options, ModelRunOptions) and options.resume is not None


def _refuse_partial(record: Record[Any, Any], options: EvalOptions, out: Path) -> None:
    """A figure over what budget and key allowed is no figure of the dataset, unless that is said to be enough."""
    if not isinstance(options, ModelRunOptions) or options.allow_partial:
        return
    if record.llm is None or record.run.status != "complete":
        return
    units = TASKS[record.run.task].units
    hopeless = [
        one for one in record.errors if one.kind in {"verdict", "check"} and one.error in HOPELESS
    ]
    if hopeless:
        kinds = Counter(one.kind for one in hopeless)
        why = f"{hopeless[0].message} ({hopeless[0].error})"
        raise EvaluationError(
            f"{_counted(record.llm, units, kinds['verdict'], kinds['check'])} have no verdict: {why}; see {out},"
            f" mend that and continue with --resume {out}, or take the part with --allow-partial"
        )
    checks = record.llm.checks
    skipped = [
        part.outcomes.get("skipped_budget", 0) if part else 0 for part in (record.llm, checks)
    ]
    if any(skipped):
        raise EvaluationError(
            f"the budget left {_counted(record.llm, units, *skipped)} {'undone' if checks else 'unjudged'}: see {out};"
            f" raise it and continue with --resume {out}, or take the part with --allow-partial"
        )
    _refuse_sparse(record, options, record.llm, out)


def _refuse_sparse(
    record: Record[Any, Any], options: ModelRunOptions, llm: LlmReport, out: Path
) -> None:
    """So few verdicts say nothing of the dataset, and a pipeline must not take them for a result."""
    units = TASKS[record.run.task].units
    least = f"--min-coverage is {options.min_coverage:g}"
    named = units if llm.checks is None else "evaluations"
    for part, what in ((llm, named), (llm.checks, "checks")):
        if part is None:
            continue
        if not part.items:
            raise EvaluationError(f"none of the {units} could be judged: see {out}")
        scored = part.outcomes.get("scored", 0)
        if scored < options.min_coverage * part.items:
            kind = "verdict" if part is llm else "check"
            commonest = _commonest([one for one in record.errors if one.kind == kind])
            raise EvaluationError(
                f"only {scored} of {part.items} {what} could be had, and {least}{commonest}; see {out}, ask another"
                " model, or take the part with --allow-partial"
            )


def _commonest(errors: Sequence[ErrorReport]) -> str:
    """Why most of them failed, in the words of the first."""
    if not errors:
        return ""
    code, count = Counter(one.error for one in errors).most_common(1)[0]
    first = next(one for one in errors if one.error == code)
    return f"; {count} of the others failed alike: {first.message} ({code})"


def _counted(llm: LlmReport, units: str, judged: int, checked: int) -> str:
    """So many of all items; where answers are checked, too, of the evaluations and of the checks apart."""
    if llm.checks is None:
        return f"{judged} of {llm.items} {units}"
    parts = ((judged, llm.items, "evaluations"), (checked, llm.checks.items, "checks"))
    return " and ".join(f"{count} of {of} {what}" for count, of, what in parts if count)
