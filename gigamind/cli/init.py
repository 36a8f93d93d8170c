"""`gigamind init`: write gigamind.toml from three answers."""

import json
import sys
from pathlib import Path
from typing import get_args

import click

from gigamind.cli.command import command
from gigamind.cli.config import FILE
from gigamind.cli.errors import translated
from gigamind.cli.output import prints_json, show_written
from gigamind.errors import InputError
from gigamind.i18n import LanguageChoice, Message, Text, _, joined, language_of

_HEAD = """# Options of gigamind for commands called in this folder or below. A table has the name of a command and may
# hold any of its options (gigamind eval search --help-all). The command line overrides the environment
# (GIGAMIND_EVAL_SEARCH_TOPK=5), which overrides this file. Paths are relative to its folder.
"""
_FUSION = """# Recommended if `gigamind tune search` measures a gain on your questions; it prints all lines to put here:
# fusion = "balanced"
"""


@command(
    examples=("gigamind init", "gigamind init --notes vault --dataset queries.jsonl --lang ko"),
    configured=False,
    epilog="Exit codes: 0 gigamind.toml written; 1 invalid input, or gigamind.toml already exists.",
)
@click.option("--notes", metavar="FOLDER", help="the vault (folder of Markdown notes)")
@click.option("--dataset", metavar="FILE", help="queries, one JSON object per line")
@click.option("--lang", type=click.Choice(get_args(LanguageChoice)), help="language of the reports")
@prints_json
def init(*, notes: str | None, dataset: str | None, lang: str | None) -> None:
    """Create gigamind.toml in this folder so that daily commands need no options.

    This command asks at most three questions, one for each option that you omit.
    """
    path = Path(FILE)
    if path.exists():
        raise InputError(
            "{file} already exists. Edit this file, or remove it and run the command again.",
            file=FILE,
        )
    if None in {notes, dataset, lang} and not sys.stdin.isatty():
        raise InputError(
            _(
                "gigamind cannot ask its questions without a terminal. Pass --notes, --dataset and --lang."
            )
        )
    choices = get_args(LanguageChoice)
    notes = notes or _ask(_("Folder of the notes"), "vault" if Path("vault").is_dir() else ".")
    dataset = dataset or _ask(_("File with the search questions"), "queries.jsonl")
    lang = lang or _ask(_("Language of the reports ({choices})", choices=choices), language_of())
    if not Path(notes).is_dir():
        raise InputError(
            "--notes {path}: not a folder. Give the folder of the Markdown notes.", path=notes
        )
    if lang not in choices:
        raise InputError("--lang {value}: must be one of {choices}", value=lang, choices=choices)
    # JSON and TOML write basic strings alike.
    folder, file = (json.dumps(given, ensure_ascii=False) for given in (notes, dataset))
    text = (
        f'{_HEAD}\n[search]\nnotes = {folder}\ndataset = {file}\nlang = "{lang}"\n{_FUSION}'
        f"\n[suggest-links]\nnotes = {folder}\n"
    )
    path.write_text(text, encoding="utf-8")
    lines: list[Text] = [_("Written: {file}", file=FILE)]
    if not Path(dataset).is_file():
        missing = _(
            "{file} does not exist yet. Write a question per line, or generate some:", file=dataset
        )
        generate = f"  gigamind eval generate-queries --notes {notes} --out {Path(dataset)}"
        lines += [missing, generate]
    lines.append(_("Next command: {command}", command="gigamind eval search"))
    lines.append(
        _(
            "To see whether balanced fusion finds more on your questions: {command}",
            command="gigamind tune search",
        )
    )
    show_written(path, {"options": 4}, joined(lines, "\n"))


def _ask(question: Message, default: str) -> str:
    return str(click.prompt(translated(question), default=default, err=True)).strip()
