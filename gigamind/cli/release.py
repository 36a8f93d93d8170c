"""`gigamind compare`, `history` and `baseline`: compare finished runs without running anything."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gigamind.choices import BASELINES
from gigamind.cli.command import Group, command, lang_option
from gigamind.cli.options import options_of
from gigamind.cli.output import prints_json, show_result, show_written
from gigamind.evaluation.options import ReleaseOptions, validated
from gigamind.i18n import Language, LanguageChoice, _, c_, language_of, n_, translator

if TYPE_CHECKING:
    from gigamind.evaluation.experiment import ComparedRuns
    from gigamind.reports.history import Histories

_path = click.Path(path_type=Path)
_MAX_LEVELS = 10


@click.group(cls=Group)
def baseline() -> None:
    """Choose the run that later runs are compared with (the baseline)."""


@baseline.command(examples=("gigamind baseline promote eval/out/20261123-101500",))
@click.argument("run", type=_path)
@click.option(
    "--folder", type=_path, default=BASELINES, show_default=True, help="folder of baselines"
)
@click.option("--force", is_flag=True, help="make the run the baseline even if it failed gates")
@prints_json
def promote(run: Path, folder: Path, *, force: bool) -> None:
    """Make RUN (an output folder or a snapshot.json) the baseline in --folder.

    To promote a run with a failed gate, add --force. If the command fails, the previous baseline stays.
    """
    from gigamind.cli.errors import call_language
    from gigamind.reports.release import worst_value_text
    from gigamind.tasks.promotion import promote_checked, refuse_failed

    if not force:
        refuse_failed(run, folder)
    file, worst = promote_checked(run, folder)
    if worst:
        click.echo(worst_value_text(worst, translator(call_language())), err=True)
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
    from gigamind.evaluation.experiment import compare_runs
    from gigamind.records.folder import check_out_folder, write_texts
    from gigamind.tasks import TASKS

    options = validated(ReleaseOptions, values)
    if out:
        check_out_folder(out)
    comparison = compare_runs(runs, options, lang, TASKS)
    if out:
        write_texts(out, comparison.files())
    show_result(comparison.dump(), lambda: _show_experiment(comparison, out))
    verdict = comparison.verdict
    sys.exit(verdict.exit_code(fail_on_regression=options.fail_on_regression) if verdict else 0)


@command(
    examples=("gigamind history eval/out", "gigamind history eval/out --out history --lang ko")
)
@click.argument("runs", type=_path)
@click.option("--out", type=_path, help="folder for history.html and history.json")
@lang_option(_("language of history.html; auto follows LC_ALL, LC_MESSAGES or LANG"))
@click.option(
    "--seed",
    type=int,
    default=42,
    show_default=True,
    help="random seed for the permutation test of change points",
)
@prints_json
def history(runs: Path, *, out: Path | None, lang: LanguageChoice, seed: int) -> None:
    """Show the metrics of all complete runs in the folder RUNS over time, with their change points."""
    from gigamind.records.folder import as_json as text_of
    from gigamind.records.folder import check_out_folder, write_texts
    from gigamind.reports.history import read_history
    from gigamind.reports.page.history import render_history

    if out:
        check_out_folder(out)
    histories = read_history(runs, seed=seed)
    if out:
        page = render_history(histories, language_of(lang))
        data = text_of(histories, indent=2) + "\n"
        write_texts(out, {"history.html": page, "history.json": data})
    show_result(histories, lambda: _show_history(histories, out, language_of(lang)))


def _show_experiment(compared: "ComparedRuns", out: Path | None) -> None:
    from rich.table import Table

    from gigamind.cli.show import plain_console
    from gigamind.reports.page import experiment as page
    from gigamind.reports.terminal import show
    from gigamind.reports.verdict import release_document
    from gigamind.text import printable

    console, say, experiment = plain_console(), translator(compared.lang), compared.experiment
    verdict = compared.verdict
    if verdict and not verdict.gate.is_refused:
        show(release_document(verdict.release, str(compared.last)), console, say)
    else:
        release = verdict.release if verdict else None
        console.print(printable(page.why_no_verdict(release, say)))
    console.print(page.headline(experiment, say))
    names = [run.label for run in experiment.runs]
    heads = (say(_("metric")), say(c_("number of items", "N")))
    table = Table(*heads, *names, box=None, pad_edge=False)
    if len(names) == 2:  # noqa: PLR2004  more than one difference would not fit in a terminal
        table.add_column(say(_("difference")))
    labels = {True: say(_("better")), False: say(_("worse")), None: ""}
    for name, n, value, cells in page.figure_rows(experiment, say, main=True):
        values = [f"{cell.pairs or cell.value} {labels[cell.better]}".strip() for cell in cells]
        differences = [f"{cell.difference} {cell.interval}".strip() for cell in cells]
        table.add_row(
            name, str(n), value, *values, *differences[: len(table.columns) - 2 - len(names)]
        )
    console.print(table)
    for place in range(1, len(names)):
        console.print(printable(page.finding(experiment, place, say)))
    console.print(page.certainty(experiment, say))
    for notice in page.notices(experiment, say):
        console.print(f"  {printable(notice)}")
    if out:
        console.print(say(_("Comparison: {file}", file=out / "compare.html")))


def _show_history(histories: "Histories", out: Path | None, language: Language) -> None:
    from gigamind.cli.show import plain_console
    from gigamind.formats import share
    from gigamind.reports.figures import metric_name
    from gigamind.reports.page.history import cause_text, change_text, result, subject

    console, say = plain_console(), translator(language)
    for history in histories.histories:
        count, name = len(history.runs), subject(history, say)
        console.print(say(n_("{subject}: {n} run", "{subject}: {n:,} runs", n=count, subject=name)))
        console.print(f"  {result(history, say)}")
        for change in history.changes:
            console.print(f"  {change_text(change, history, say)}: {cause_text(change, say)}")
            for level in change.metrics[:_MAX_LEVELS]:
                name = metric_name(level.metric, say)
                console.print(f"    {name} {share(level.before)} -> {share(level.after)}")
    if histories.skipped:
        line = _("Skipped incomplete or unreadable runs: {n:,}", n=histories.skipped)
        console.print(say(line))
    if out:
        console.print(say(_("History: {file}", file=out / "history.html")))
