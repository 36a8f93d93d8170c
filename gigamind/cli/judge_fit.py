"""`gigamind judge fit`: fit a judge for your own vault from labelled queries."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from pydantic import BaseModel, ConfigDict, Field

from gigamind.choices import LeaveOut
from gigamind.cli.command import Group
from gigamind.cli.errors import print_line, translated
from gigamind.cli.options import options_of
from gigamind.cli.output import prints_json, show_result
from gigamind.errors import InputError
from gigamind.evaluation.options import validated
from gigamind.i18n import Text, _
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, RetrievalSettings, default_cache_folder

if TYPE_CHECKING:
    from gigamind.judges.calibrated import CalibratedJudgeFile


_FIGURES = {
    "queries": _("queries"),
    "unanswerable": _("unanswerable"),
    "left_out": _("queries searched without their expected notes"),
    "folds": _("cross-validation folds"),
    "false_refusals": _("false refusals"),
}


_Paths = Annotated[tuple[Path, ...], Field(min_length=1)]


class FitOptions(BaseModel):
    """Options of a fit; `dataset` and `notes` go in pairs."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    dataset: _Paths = Field(description="labelled queries, one JSON object per line; repeatable")
    notes: _Paths = Field(description="vault for each --dataset, in the same order; repeatable")
    out: Path = Field(description="judge file to write")
    leave_out: LeaveOut = Field(
        "auto",
        description=(
            "search each answerable query also without its expected notes, as an unanswerable query; auto does"
            " this if the dataset has few unanswerable queries"
        ),
    )
    mode: Literal["hybrid", "keyword"] = Field(
        "hybrid",
        description="search mode that the judge is for; keyword uses no vectors and suits only keyword search",
    )
    embedder: str = Field(
        DEFAULT_EMBEDDER,
        description="embedding model: use-multilingual, e5-small, fastembed:<model or folder> or litellm:<model>",
    )
    embedding_api_base: str | None = Field(
        None, description="base URL of the server for litellm embedding models"
    )
    cache_dir: Path | None = Field(
        None, description="folder for cached vectors and indexes (default: the user's cache folder)"
    )


@click.group(cls=Group)
def fit() -> None:
    """Fit a judge to labelled queries."""


@fit.command(
    examples=(
        "gigamind judge fit unanswerable --dataset queries.jsonl --notes vault --out our-judge.toml",
    )
)
@options_of(FitOptions)
@prints_json
def unanswerable(**values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Fit a `calibrated` judge that detects unanswerable queries, and show its cross-validated reliability."""
    from gigamind.cli.show import plain_console, show_warning_lines
    from gigamind.datasets.write import refuse_existing_file
    from gigamind.judges.fit_collections import write_judge_file

    options = validated(FitOptions, values)
    refuse_existing_file("--out", options.out)
    if len(options.dataset) != len(options.notes):
        message = _(
            "--dataset is given {datasets} times and --notes {vaults} times. Give each dataset its vault in order.",
            datasets=len(options.dataset),
            vaults=len(options.notes),
        )
        raise InputError(message)
    fitted, warnings = _fit(options)
    write_judge_file(options.out, fitted)
    show_result(fitted, lambda: _show(fitted, options.out))
    show_warning_lines(plain_console(stderr=True), warnings)


def _fit(options: FitOptions) -> "tuple[CalibratedJudgeFile, list[Text]]":
    from gigamind.cli.progress import progress_bar
    from gigamind.judges.fit_collections import fit_judge, label_collection

    settings = RetrievalSettings(
        mode=options.mode,
        embedder=options.embedder,
        embedding_api_base=options.embedding_api_base,
        cache=options.cache_dir or default_cache_folder(),
    )
    with progress_bar() as bar:
        collections = [
            label_collection(
                dataset,
                notes,
                settings,
                options.leave_out,
                lambda done, total, name=str(dataset): bar.stage(name, done, total),
            )
            for dataset, notes in zip(options.dataset, options.notes, strict=True)
        ]
    warnings = [warning for collection in collections for warning in collection.warnings]
    return fit_judge(collections), warnings


def _show(fitted: "CalibratedJudgeFile", out: Path) -> None:
    from rich.table import Table

    from gigamind.cli.show import plain_console
    from gigamind.judges.fit_collections import tables

    sets = tables(fitted)
    table = Table(translated(_("cross-validated")), *sets, box=None, pad_edge=False)
    for field in type(fitted.keyword.reliability).model_fields:
        figures = (getattr(calibration.reliability, field) for calibration in sets.values())
        shown = (
            f"{figure:.3f}" if isinstance(figure, float) else str(figure) for figure in figures
        )
        name = translated(_FIGURES.get(field, field.replace("_", " ")))
        table.add_row(name, *shown)
    plain_console().print(table)
    print_line(_("Judge file: {file}", file=out))
