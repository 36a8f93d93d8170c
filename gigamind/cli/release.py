"""`gigamind compare` and `gigamind baseline`: finished runs held against each other, without running anything."""

import sys
from pathlib import Path

import click

from gigamind.choices import BASELINES
from gigamind.cli.options import options_of
from gigamind.evaluation.options import ReleaseOptions, validated
from gigamind.wording import Language


@click.group()
def baseline() -> None:
    """Choose the run that later ones are compared with."""


@baseline.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=BASELINES,
    show_default=True,
    help="folder of baselines",
)
def promote(run: Path, folder: Path) -> None:
    """Make RUN (an out folder or a snapshot.json) the baseline that counts in the folder, at once or not at all."""
    from gigamind.release.snapshot import promote as promote_snapshot
    from gigamind.release.snapshot import read_snapshot
    from gigamind.tasks import KINDS

    file = promote_snapshot(read_snapshot(run, KINDS), folder)
    click.echo(f"Baseline: {file}")


@click.command()
@click.argument("baseline", type=click.Path(path_type=Path))
@click.argument("current", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="folder for compare.html, compare.md and compare.json",
)
@click.option(
    "--lang",
    type=click.Choice(["en", "ko"]),
    help="language of compare.html; that of CURRENT without it",
)
@options_of(ReleaseOptions)
def compare(
    baseline: Path, current: Path, out: Path | None, lang: Language | None, **values: object
) -> None:
    """Compare run CURRENT with BASELINE: each an out folder, a snapshot.json, or a folder of baselines.

    compare.html shows the items with their texts, so it needs the out folder of CURRENT.

    Exit code 4 with --fail-on-regression when a gate fails, 1 when the runs cannot be compared.
    """
    from gigamind.cli.show import show_release
    from gigamind.evaluation.release import announce, read_reference
    from gigamind.records.folder import check_out_folder, write_texts
    from gigamind.release.snapshot import read_baseline, read_run
    from gigamind.tasks import KINDS, TASKS

    options = validated(ReleaseOptions, values)
    if out:
        check_out_folder(out)
    latest = read_baseline(current, KINDS)
    lang = lang or ("ko" if latest.config.get("lang") == "ko" else "en")
    reference = read_reference(baseline, options, latest.task, KINDS)
    verdict = reference.judge(latest)
    if out:
        files = verdict.files()
        if (current / "run.json").is_file():
            files["compare.html"] = TASKS[latest.task].view.page(
                read_run(current, KINDS), lang=lang, baseline=reference.baseline, gate=verdict.gate
            )
        write_texts(out, files)
    announce(latest.task, verdict, options.junit, lang)
    show_release(verdict, out)
    sys.exit(verdict.exit_code(fail_on_regression=options.fail_on_regression))
