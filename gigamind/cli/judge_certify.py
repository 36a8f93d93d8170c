"""`gigamind judge certify`: write the judge report for the judge of finished runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gigamind.assurance.options import CertifyOptions
from gigamind.cli.command import command
from gigamind.cli.options import options_of
from gigamind.cli.output import prints_json, show_result
from gigamind.evaluation.options import validated
from gigamind.i18n import Language, _, language_of

if TYPE_CHECKING:
    from gigamind.records.card import JudgeCard


@command(
    "certify",
    examples=(
        "gigamind judge certify runs/a --labels people.jsonl --out card",
        "gigamind judge certify runs/a runs/b --attacks attacks.json --tests tests.json --out card",
    ),
    epilog="Exit codes: 0 judge report written; 1 invalid input; 3 judge report cannot be written.",
)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@options_of(CertifyOptions, only=CertifyOptions.model_fields.keys() - {"runs"})
@prints_json
def certify(**values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Certify the judge of RUN: measure its agreement with human labels.

    RUN is the output folder of an evaluation. Further RUNs repeat the same evaluation.

    Labels are {"id": ..., "unanswerable": true} for a search run and {"id": ..., "correctness": 0.5, "utility": 1.0}
    (or "completeness") for a run over answers. The command writes the judge report: judge_card.json, judge_card.md
    and judge_card.html.
    """
    from gigamind.assurance.certify import write_card
    from gigamind.tasks import judged_kinds

    options = validated(CertifyOptions, values)
    card, written = write_card(options, judged_kinds())
    show_result(card, lambda: _show(card, language_of(options.lang), written))


def _show(card: "JudgeCard", lang: Language, out: Path) -> None:
    from gigamind.cli.show import plain_console
    from gigamind.i18n import translator
    from gigamind.reports.cards.page import card_document
    from gigamind.reports.terminal import show

    say = translator(lang)
    show(card_document(card, say, out), plain_console(), say)
    click.echo(say(_("Judge report: {file}", file=out / "judge_card.html")))
