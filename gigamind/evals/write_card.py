"""Makes the card of a judge and writes its folder: what the command line and the flow have in common."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gigamind.evals.certify import certify
from gigamind.evals.certify_options import CertifyOptions
from gigamind.reports.cards.markdown import render_card, subject
from gigamind.reports.cards.page import card_files
from gigamind.reports.cards.schema import JudgeCard
from gigamind.reports.write import check_out_folder, write_texts


def write_card(options: CertifyOptions) -> tuple[JudgeCard, Path]:
    """The card, and the folder that it was written to.

    Raises:
        InputError: see `certify`; or the folder cannot be written to.
        EvaluationError: the disk is full.
    """
    now = datetime.now(UTC)
    out = options.out or Path("eval/cards") / now.astimezone().strftime("%Y%m%d-%H%M%S")
    check_out_folder(out)
    card = certify(
        options.runs,
        options.labels,
        created_at=now.isoformat(timespec="seconds"),
        attacks=options.attacks,
        seed=options.seed,
    )
    write_texts(out, card_files(card, options.lang))
    return card, out


def write_card_flow(options: CertifyOptions) -> dict[str, Any]:
    """The same for a flow, whose tasks give JSON values.

    Returns `out`, `subject`: judge and labels in a line, `card`: judge_card.json, `markdown`: judge_card.md.

    Raises:
        GigamindError: see `write_card`.
    """
    card, out = write_card(options)
    return {
        "out": str(out),
        "subject": subject(card, options.lang),
        "card": card.model_dump(mode="json"),
        "markdown": render_card(card, options.lang),
    }
