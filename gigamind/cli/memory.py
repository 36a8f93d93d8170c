"""`gigamind memory`: turn sessions into verified entries, from a file or by a model, and show the events."""

import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import Field

from gigamind.choices import PromptLanguage
from gigamind.cli.command import Group
from gigamind.cli.llm import ask_model
from gigamind.cli.options import options_of
from gigamind.cli.output import is_json, print_line, prints_json, show_result, translated
from gigamind.errors import InputError
from gigamind.evaluation.options import validated
from gigamind.evidence.schema import AlignOptions
from gigamind.i18n import _
from gigamind.llm.settings import ModelOptions
from gigamind.memory.events import DEFAULT_LOG, EventLog, read_events
from gigamind.text import printable

if TYPE_CHECKING:
    from gigamind.memory.sessions import Entry, SessionReport


class _ExtractionOptions(ModelOptions, AlignOptions):
    """Options of the model that extracts entries."""

    prompt_lang: PromptLanguage = Field(
        "auto",
        description="language of the extraction prompt; auto uses the language of the session",
    )
    max_tokens: int = Field(
        4_096, ge=1, description="maximum tokens per reply; doubled once if a reply is cut off"
    )
    ledger: Path | None = Field(
        None,
        description="file that logs each request to the model (default: attempts.jsonl next to the event log)",
    )


_POLL_SECONDS = 0.25
_file = click.Path(path_type=Path, dir_okay=False)

_log_option = click.option(
    "--log", "log_path", type=_file, default=DEFAULT_LOG, show_default=True, help="event log file"
)


@click.group("memory", cls=Group)
def memory() -> None:
    """Extract facts from chat sessions, verify them by quotes from the session and show the event log."""


@memory.command(
    "graduate",
    examples=(
        "gigamind memory graduate --session talk.jsonl --extracted talk.extracted.json",
        "gigamind memory graduate --session talk.jsonl --model openai/gpt-4o-mini --max-cost-usd 1",
    ),
)
@click.option(
    "--session",
    "session_name",
    metavar="FILE",
    required=True,
    help='session file (JSON Lines), one message per line: {"role": "user", "content": "..."}',
)
@click.option(
    "--extracted",
    "extracted_name",
    metavar="FILE",
    help=(
        'JSON file of extracted entries: {"entries": [{"entryId", "text", "evidence": [{"messageIndex",'
        ' "quote"}]}]}'
    ),
)
@click.option("--session-id", help="name of the session (default: the file name)")
@_log_option
@options_of(_ExtractionOptions)
@prints_json
def _graduate(
    *,
    session_name: str,
    extracted_name: str | None,
    session_id: str | None,
    log_path: Path,
    **given: Any,  # noqa: ANN401  checked by the options model
) -> None:
    """Verify the entries extracted from one session against their evidence.

    The entries come from a file (--extracted) or a language model (--model). Repeating the command for the same
    session adds nothing to the log and sends no requests.
    """
    from gigamind.memory.extract import extract
    from gigamind.memory.sessions import Extraction, Session

    options = validated(_ExtractionOptions, given)
    if (extracted_name is None) == (not options.model):
        raise InputError(_("Give either --extracted or --model."))
    session = Session.read(session_name, session_id)
    if extracted_name is None:  # before the log is opened: the model must block no other process
        dropped: Counter[str] = Counter()
        extraction = ask_model(
            options,
            lambda model, key: extract(session, model, key, options.prompt_lang, dropped),
            max_tokens=options.max_tokens,
            store=log_path.parent / "replies",
            ledger=options.ledger or log_path.parent / "attempts.jsonl",
        )
        for reason, count in sorted(dropped.items()):
            print_line(_("dropped {count:,}: {reason}", count=count, reason=reason), err=True)
    else:
        extraction = Extraction.read(extracted_name)
    with EventLog(log_path) as log:
        entries = session.graduate(extraction, log, options.alignment)
    show_result(entries, lambda: _print(entries))


@memory.command("graduate-all", examples=("gigamind memory graduate-all --folder sessions",))
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    required=True,
    help="folder of sessions: NAME.jsonl next to NAME.extracted.json; subfolders are not read",
)
@_log_option
@options_of(AlignOptions)
@prints_json
def _graduate_all(
    *,
    folder: Path,
    log_path: Path,
    **given: Any,  # noqa: ANN401  checked by the options model
) -> None:
    """Verify the entries of all sessions in a folder.

    The Prefect flow `graduate-memory` does the same. If a session fails, the command reports it, processes the other
    sessions and exits with 1.
    """
    from gigamind.memory import sessions

    options = validated(sessions.FolderOptions, {"folder": folder, "log": log_path, **given})
    names = options.session_names()
    reports: list[SessionReport] = []
    with EventLog(log_path) as log:
        for report in options.graduate_each(names, log):
            reports.append(report)
            if not is_json():
                _print_report(report)
    show_result(reports, lambda: None)  # printed as they came
    if problem := sessions.problem(reports):
        raise InputError(problem)


@memory.command(
    "events", examples=("gigamind memory events", "gigamind memory events --after 120 --follow")
)
@_log_option
@click.option(
    "--after",
    type=click.IntRange(0),
    default=0,
    help="print only events after this sequence number",
)
@click.option("--follow", is_flag=True, help="keep printing new events until you press Ctrl-C")
def _events(log_path: Path, after: int, *, follow: bool) -> None:
    """Print the event log, one JSON object per line."""
    last = after
    while True:
        for event in read_events(log_path, after=last):
            click.echo(json.dumps(asdict(event), ensure_ascii=False))
            last = event.seq
        if not follow:
            return
        time.sleep(_POLL_SECONDS)


def _print(entries: "Iterable[Entry]") -> None:
    for entry in entries:
        line = f"{entry.stage:<9}  {printable(entry.entry_id)}"
        if entry.promotion_block_reason:
            line = f"{line}  {entry.promotion_block_reason}"
        click.echo(line)
        for quote in entry.failed_quotes:
            line = _("quote not found in the messages: {quote}", quote=printable(quote))
            click.echo(f"{'':<11}{translated(line)}")


def _print_report(report: "SessionReport") -> None:
    name = printable(report["session"])
    if report["status"] == "failed":
        print_line(_("{session}: failed: {reason}", session=name, reason=report["reasons"][0]))
        return
    line = _(
        "{session}: {verified:,} of {entries:,} entries verified; quotes: {quotes_aligned:,} found, {quotes_failed:,}"
        " not found",
        **{**report, "session": name},
    )
    print_line(line)
    for reason in report["reasons"]:
        click.echo(f"  {printable(translated(reason))}")
