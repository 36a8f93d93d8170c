"""`gigamind compare`: two finished runs side by side, without running anything."""

import sys
from pathlib import Path

import click

from gigamind.cli.options import options_of
from gigamind.evals.release_options import ReleaseOptions, read_release_options


@click.command()
@click.argument("baseline", type=click.Path(path_type=Path))
@click.argument("current", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="folder for compare.md and compare.json"
)
@options_of(ReleaseOptions)
def compare(baseline: Path, current: Path, out: Path | None, **values: object) -> None:
    """Compare run CURRENT with BASELINE: each an out folder, a snapshot.json, or a folder of baselines.

    Exit code 4 with --fail-on-regression when a gate fails, 1 when the runs cannot be compared.
    """
    from gigamind.cli.show import show_release
    from gigamind.evals.release import announce, read_reference
    from gigamind.reports.release.baseline import read_baseline
    from gigamind.reports.write import check_out_folder, write_texts

    options = read_release_options(values)
    if out:
        check_out_folder(out)
    latest = read_baseline(current)
    verdict = read_reference(baseline, options, latest.task).judge(latest)
    if out:
        write_texts(out, verdict.files())
    announce(verdict, options.junit)
    show_release(verdict, out)
    sys.exit(verdict.exit_code(fail_on_regression=options.fail_on_regression))
