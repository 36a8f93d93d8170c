"""`gigamind judge certify`: the card of the judge of finished runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gigamind.cli.command import command, lang_option
from gigamind.cli.output import prints_json, tell
from gigamind.wording import AUTO, Language, LanguageChoice, language_of

if TYPE_CHECKING:
    from gigamind.records.card import JudgeCard

_path = click.Path(path_type=Path)


@command(
    "certify",
    examples=(
        "gigamind judge certify runs/a --labels people.jsonl --out card",
        "gigamind judge certify runs/a runs/b --attacks attacks.json --tests tests.json --out card",
    ),
    epilog="Exit codes: 0 the card is written; 1 bad input; 3 it cannot be.",
)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=_path)
@click.option("--out", required=True, type=_path, help="New folder for the card.")
@click.option(
    "--labels",
    metavar="FILE",
    type=_path,
    help="JSON lines of people's labels; for a search run, by default the dataset's own.",
)
@click.option(
    "--attacks", metavar="FILE", type=_path, help="JSON report of attacks on the same judge."
)
@click.option("--tests", metavar="FILE", type=_path, help="JSON report of tests of the same judge.")
@lang_option(f"Language of the card; {AUTO}.")
@click.option("--seed", type=int, default=42, show_default=True, help="Of the bootstrap.")
@prints_json
def certify(
    *,
    runs: tuple[Path, ...],
    out: Path,
    labels: Path | None,
    attacks: Path | None,
    tests: Path | None,
    lang: LanguageChoice,
    seed: int,
) -> None:
    """Certify the judge of RUN, the out folder of an evaluation; further RUNs are its repetitions.

    A label is {"id": ..., "unanswerable": true} for a search run, and {"id": ..., "correctness": 0.5, "utility": 1.0}
    (or "completeness") for a run over answers.  Writes judge_card.json, judge_card.md and judge_card.html.
    """
    from gigamind.assurance.certify import CertifyOptions, write_card
    from gigamind.tasks import judged_kinds

    card, written = write_card(
        CertifyOptions(
            runs=runs, labels=labels, attacks=attacks, tests=tests, out=out, lang=lang, seed=seed
        ),
        judged_kinds(),
    )
    tell(card, lambda: _show(card, language_of(lang), written))


def _show(card: "JudgeCard", lang: Language, out: Path) -> None:
    from gigamind.release.shortfall import card_words
    from gigamind.reports.cards.cautions import card_verdict, cautions
    from gigamind.reports.cards.view import liars_view, scale_view

    say = card_words(lang)
    verdict = card_verdict(card, say)
    click.echo(f"{verdict.headline}.")
    for reason in verdict.reasons:
        click.echo(f"  {reason}")
    for scale in card.scales:
        view = scale_view(card, scale, say)
        click.echo(f"{view.headline}.")
        if view.flips:
            click.echo(view.flips)
    if card.liars:
        liars = liars_view(card.liars, say)
        click.echo(liars.lead)
        for row in liars.rows:
            click.echo(f"  {row.told}")
    for caution in cautions(card, say):
        click.echo(caution, err=True)
    click.echo(f"{say('title.page')}: {out / 'judge_card.html'}")
