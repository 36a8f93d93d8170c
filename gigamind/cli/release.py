"""`gigamind compare`, `history`, `baseline` and `gate`: compare and accept finished runs without running anything."""

import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from gigamind.choices import BASELINES
from gigamind.cli.command import Group, command, lang_option
from gigamind.cli.options import options_of
from gigamind.cli.output import print_line, prints_json, show_document, show_result, show_written
from gigamind.evaluation.options import ReleaseOptions, validated
from gigamind.i18n import LanguageChoice, _, language_of, translator

_path = click.Path(path_type=Path)


@click.group(cls=Group)
def baseline() -> None:
    """Choose the run that later runs are compared with (the baseline)."""


@baseline.command("promote", examples=("gigamind baseline promote eval/out/20261123-101500",))
@click.argument("run", type=_path)
@click.option(
    "--folder", type=_path, default=BASELINES, show_default=True, help="folder of baselines"
)
@click.option(
    "--force",
    is_flag=True,
    help="make the run the baseline even if it failed gates or is not comparable",
)
@prints_json
def _promote(run: Path, folder: Path, *, force: bool) -> None:
    """Make RUN (an output folder or a snapshot.json) the baseline in --folder.

    To promote a run that failed, was waived or is not comparable, add --force. If the command fails, the previous
    baseline stays.
    """
    from gigamind.reports.verdict import worst_value_text
    from gigamind.tasks.promotion import promote, refuse_failed

    if not force:
        refuse_failed(run, folder)
    file, worst = promote(run, folder)
    if worst:
        print_line(worst_value_text(worst), err=True)
    show_written(file, {"runs": 1}, _("Baseline: {file}", file=file))


@command(
    examples=(
        "gigamind compare runs/keyword runs/hybrid runs/balanced --out comparison",
        "gigamind compare eval/baselines eval/out/20261123-101500 --phase beta --fail-on-regression",
    )
)
@click.argument("runs", nargs=-1, required=True, type=_path)
@click.option(
    "--out",
    type=_path,
    help="folder for compare.html and compare.json; for two runs also compare.md and the second run's report.html",
)
@lang_option(_("language of the pages; auto uses the language of the last run"))
@options_of(ReleaseOptions)
@prints_json
def compare(
    runs: tuple[Path, ...], *, out: Path | None, lang: LanguageChoice, **values: object
) -> None:
    """Compare each of RUNS with the first run. A run is an output folder, a snapshot.json or a folder of baselines.

    Mode, embedding model, settings and system may differ; the dataset must be the same. Two runs that are comparable
    under gates.toml also get a release verdict. With --fail-on-regression, the exit code is 4 if a gate fails and 1
    if there is no verdict.
    """
    from gigamind.evaluation.release import compare_runs
    from gigamind.records.folder import check_out_folder, write_texts
    from gigamind.tasks import TASKS

    options = validated(ReleaseOptions, values)
    if out:
        check_out_folder(out)
    comparison = replace(compare_runs(runs, options, lang, TASKS), out=out)
    if out:
        write_texts(out, comparison.files())
    page = out / "compare.html" if out else None
    show_result(
        comparison.dump(),
        lambda: show_document(comparison.document(), translator(comparison.lang), page),
    )
    verdict = comparison.verdict
    sys.exit(verdict.exit_code(fail_on_regression=options.fail_on_regression) if verdict else 0)


@command(
    examples=("gigamind history eval/out", "gigamind history eval/out --out history --lang ko")
)
@click.argument("runs", type=_path)
@click.option("--out", type=_path, help="folder for history.html and history.json")
@lang_option(_("language of history.html; auto follows LC_ALL, LC_MESSAGES or LANG"))
@prints_json
def history(runs: Path, *, out: Path | None, lang: LanguageChoice) -> None:
    """Show the metrics of all complete runs in the folder RUNS over time, with their change points."""
    from gigamind.records.folder import as_json as text_of
    from gigamind.records.folder import check_out_folder, write_texts
    from gigamind.reports.history import Histories, history_document
    from gigamind.reports.html import render_html

    if out:
        check_out_folder(out)
    histories, say = Histories.read(runs), translator(language_of(lang))
    document = history_document(histories)
    if out:
        page = render_html(document, say)
        data = text_of(histories, indent=2) + "\n"
        write_texts(out, {"history.html": page, "history.json": data})
    place = out / "history.html" if out else None
    show_result(histories, lambda: show_document(document, say, place))


@click.group(cls=Group)
def gate() -> None:
    """Record who accepts a failed release gate, and until when."""


@gate.command(
    "waive",
    examples=(
        'gigamind gate waive eval/out/20261123-101500 --reason "new FAQ" --until 2026-12-05 --by kim',
    ),
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--reason", required=True, help="why the release is acceptable")
@click.option(
    "--until", type=click.DateTime(["%Y-%m-%d"]), required=True, help="last day of the waiver"
)
@click.option("--by", required=True, help="name of the person who accepts it")
@prints_json
def _waive(run: Path, reason: str, until: datetime, by: str) -> None:
    """Accept the failed gates of RUN, an output folder, until a date.

    The gates stay failed and every page shows the waiver. Later runs with the same dataset, notes, judge and settings
    in the same parent folder are waived as well. A gate that was not failed before is not waived.
    """
    from gigamind.evaluation.release import WAIVER_FILE
    from gigamind.tasks.promotion import waive_run

    waiver = waive_run(run, reason=reason, until=until.date(), by=by)
    file = run / WAIVER_FILE
    show_written(file, {"gates": len(waiver.metrics)}, _("Waiver: {file}", file=file))
