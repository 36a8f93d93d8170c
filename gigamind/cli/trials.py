"""Asks the model for a judge that `gigamind judge` puts on trial, and writes what came of it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
from pydantic import BaseModel, Field

from gigamind.assets import asset
from gigamind.datasets.write import write_lines
from gigamind.errors import EvaluationError, InputError, UnaskedError
from gigamind.judges.spec import PromptLanguage
from gigamind.llm.fences import fence_key
from gigamind.llm.ledger import Ledger
from gigamind.llm.options import ModelOptions, budget_of, open_model
from gigamind.llm.store import StoreMode
from gigamind.retrieval.cache import default_cache_folder

if TYPE_CHECKING:
    from gigamind.judges.trial import JudgeOnTrial, Share

Report = TypeVar("Report", bound=BaseModel)
_GO_ON: dict[StoreMode, str] = {
    "readwrite": "; run it again, what was answered is kept",
    "refresh": "; run it again with --store-mode readwrite, what was answered is kept",
}


class TrialOptions(ModelOptions):
    """Which model judges, in which language it is asked, and where the report goes."""

    judge_lang: PromptLanguage = Field(
        "auto", description="language of the judge's prompt; auto: that of the case"
    )
    out: Path | None = Field(None, description="write the report to this file too, as JSON")


def judge_path(name: str) -> Path:
    """The judge file of that path, or of that name, such as "x" or "judges/x.toml", among those of gigamind itself.

    Raises:
        InputError: there is none.
    """
    if (path := Path(name)).is_file():
        return path
    folder = asset("judges")
    own = name.removeprefix("judges/").removesuffix(".toml")
    if (path := folder / f"{own}.toml").is_file():
        return path
    known = ", ".join(sorted(file.stem for file in folder.glob("*.toml")))
    raise InputError(f"JUDGE {name}: neither a file nor one of {known}")


def try_judge(
    name: str, options: TrialOptions, trial: Callable[["JudgeOnTrial"], Awaitable[Report]]
) -> Report:
    """The report of a trial; its cost is told on standard error, however it ends.

    Raises:
        InputError: the judge or an option cannot be used.
        LlmError: the model cannot be called at all.
        EvaluationError: the trial is not whole, or the report cannot be written.
    """
    from gigamind.judges.trial_judges import load_judge

    loaded = load_judge(judge_path(name), options.judge_lang)
    store = default_cache_folder() / "trials"
    # Kept beside the answers: they are found by their prompt, which holds a mark that is made with it.
    key = fence_key((options.store or store) / "fence.key")
    ledger, budget = Ledger(), budget_of(options)
    models = [
        open_model(options, ledger, store, loaded.settings, budget, model=name)
        for name in loaded.models(options)
    ]

    async def run() -> Report:
        try:
            return await trial(loaded.on_trial(models, key))
        finally:
            for model in models:
                await model.close()

    try:
        report = asyncio.run(run())
    except UnaskedError as error:
        raise UnaskedError(f"{error}{_GO_ON.get(options.store_mode, '')}") from error
    finally:
        spent = ledger.totals()
        cost = "unknown" if spent.micro_usd is None else f"{spent.micro_usd / 1e6:.6f} USD"
        click.echo(
            f"requests: {spent.http_calls}, from the store: {spent.store_hits}, cost: {cost}",
            err=True,
        )
    if options.out:
        write_lines(options.out, [report.model_dump_json(indent=2)])
    return report


def must_be_measured(share: "Share", option: str, what: str) -> float:
    """The rate that an option sets a limit to.

    Raises:
        EvaluationError: there is none, so nobody knows whether it keeps the limit.
    """
    if share.rate is None:
        raise EvaluationError(
            f"{option}: {what} could be measured, so there is no rate to hold to it"
        )
    return share.rate


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows in columns, the first to the left and the others to the right; names are plain ASCII."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    ]
    return "\n".join(lines)


def percent(share: "Share") -> str:
    """A share with its interval, or "-" for the share of none."""
    if share.rate is None or share.low is None or share.high is None:
        return "-"
    return f"{share.hits}/{share.of} = {share.rate:.1%} [{share.low:.1%}, {share.high:.1%}]"
