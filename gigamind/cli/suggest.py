"""`gigamind suggest-links`: suggest links for notes (spec 10.4) and write them."""

import difflib
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from gigamind.choices import SHOWN_CONFIDENCE
from gigamind.cli.command import command, is_quiet, lang_option
from gigamind.cli.output import (
    is_json,
    print_line,
    prints_json,
    progress_bar,
)
from gigamind.errors import InputError
from gigamind.i18n import LanguageChoice, _, joined, language_of
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, default_cache_folder

if TYPE_CHECKING:
    from gigamind.cli.suggestions import Suggested
    from gigamind.linking.habits import Calibration
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import Note, Vault

_LINES = {".jsonl", ".md"}
_PHRASES_LEFT_OUT = _(
    "Only note names were linked, because suggested phrases are less often right. To link phrases too, add --phrases."
)
_UNCALIBRATED = _(
    "The vault has too few links to calibrate the confidence, so the calibration comes from other vaults."
)
_UNCALIBRATED_PHRASES = _(
    "The vault has too few links on phrases to calibrate the confidence of suggested phrases, so theirs comes from"
    " other vaults."
)
_path = click.Path(path_type=Path)
_share, _count = click.FloatRange(0, 1), click.IntRange(min=1)


@command(
    "suggest-links",
    context_settings={"show_default": True},
    examples=(
        "gigamind suggest-links --note projects/launch.md --notes vault",
        "gigamind suggest-links --all --notes vault --out suggestions.md",
        "gigamind suggest-links --all --notes vault --in-place --min-confidence 0.8",
    ),
)
@click.option("--note", "name", help="suggest links for this note: its path or name in the vault")
@click.option("--all", "every", is_flag=True, help="suggest links for all notes in the vault")
@click.option("--notes", type=_path, default=".", help="the vault")
@click.option(
    "--max", "most", type=_count, default=10, help="maximum number of suggestions per note"
)
@click.option(
    "--min-confidence",
    type=_share,
    default=SHOWN_CONFIDENCE,
    help="lowest confidence of a suggestion, 0 to 1",
)
@click.option(
    "--include-linked",
    is_flag=True,
    help="also suggest links to notes that the note already links to",
)
@click.option(
    "--semantic/--no-semantic",
    default=True,
    help="suggest both note names and phrases that mean a note, or only note names",
)
@click.option(
    "--embedder",
    default=DEFAULT_EMBEDDER,
    help="embedding model that compares meanings: use-multilingual, e5-small, fastembed:<model> or litellm:<model>",
)
@click.option(
    "--context-chars",
    type=_count,
    default=400,
    help="number of characters around a link text that are compared with the target note",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option(
    "--out",
    type=_path,
    metavar="FILE",
    help="with --all, write all suggestions to this file: .md for reading or .jsonl for programs",
)
@click.option(
    "--apply",
    "copy",
    type=_path,
    metavar="COPY",
    help="write the links into a copy of the vault in this folder",
)
@click.option(
    "--in-place",
    is_flag=True,
    help="write links into the original notes; --undo removes them again",
)
@click.option("--yes", is_flag=True, help="link all suggested note names without confirmation")
@click.option(
    "--phrases",
    is_flag=True,
    help="with --yes, also link phrases from the text; --yes alone links only note names",
)
@click.option(
    "--undo",
    "undo_file",
    type=_path,
    metavar="FILE",
    help="remove the links that --in-place wrote, as listed in this undo file",
)
@lang_option()
@prints_json
@click.pass_context
def suggest(
    context: click.Context,
    *,
    name: str | None,
    notes: Path,
    most: int,
    min_confidence: float,
    semantic: bool,
    embedder: str,
    context_chars: int,
    form: str,
    every: bool,
    include_linked: bool,
    out: Path | None,
    copy: Path | None,
    in_place: bool,
    yes: bool,
    phrases: bool,
    undo_file: Path | None,
    lang: LanguageChoice,
) -> None:
    """Suggest links for one note or all notes, each with a confidence and a reason, and optionally write them.

    Ranges in JSON count UTF-16 code units of the file, as editors do. The start is included, the end is not.

    With --apply or --in-place, you confirm each link. With --yes, note names are linked without confirmation.
    --in-place keeps a backup of the notes and an undo file in .gigamind/links in the vault.
    """
    if undo_file is not None:
        _check_alone(context)
        from gigamind.cli.suggestions import undone

        undone(undo_file)
        return
    applied = _applied(copy, in_place=in_place, yes=yes, phrases=phrases)
    del form  # the same as --json
    _check_choices(name, every=every, out=out, applied=applied)
    _check_places(notes, out, copy)
    if applied and not yes:
        _check_confirmation()
    from gigamind.cli.suggestions import Suggested, show_suggestions, write_links
    from gigamind.linking.insertion import LinkWriter
    from gigamind.linking.suggest import LinkSuggester, SuggestOptions
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import Vault

    options = SuggestOptions(
        most, min_confidence, not include_linked, context_chars, language=language_of(lang)
    )
    with progress_bar() as progress:
        vault = Vault.read(notes, progress=functools.partial(progress.stage, _("Reading")))
        identities = Identities(vault.notes)
        chosen = vault.notes if name is None else (_note(vault, identities, name),)
        suggester = LinkSuggester.load(
            vault,
            identities,
            embedder if semantic else None,
            default_cache_folder(),
            functools.partial(progress.stage, _("Names")),
        )
        suggester.prepare(chosen, functools.partial(progress.stage, _("Phrases")), options)
        all_suggested: list[Suggested] = []
        try:
            for note in chosen:
                found = suggester.suggest(note, options)
                found.sort(key=lambda entry: -entry.confidence)
                all_suggested.append(Suggested(note, found))
                progress.stage(_("Notes"), len(all_suggested), len(chosen))
        finally:  # also after an interruption
            suggester.keep()
    writer = LinkWriter(vault, identities)
    is_unknown = suggester.habits.calibration.is_of_other_vaults
    if applied:
        if yes and not phrases:
            all_suggested = _without_phrases(all_suggested)
        write_links(all_suggested, vault, writer, copy, yes=yes)
    else:
        show_suggestions(all_suggested, writer, out, every=every, names_first=is_unknown)
    _print_whose_confidence(all_suggested, suggester.habits.calibration)


def _without_phrases(all_suggested: "Sequence[Suggested]") -> "list[Suggested]":
    names = [
        suggested._replace(suggestions=[e for e in suggested.suggestions if not e.is_phrase])
        for suggested in all_suggested
    ]
    if names != all_suggested:
        print_line(_PHRASES_LEFT_OUT)
    return names


def _print_whose_confidence(all_suggested: "Sequence[Suggested]", own: "Calibration") -> None:
    shown = [entry.is_phrase for suggested in all_suggested for entry in suggested.suggestions]
    if is_quiet() or not shown:
        return
    if own.is_of_other_vaults:
        print_line(_UNCALIBRATED, err=True)
    elif any(shown) and own.phrases_are_of_other_vaults:
        print_line(_UNCALIBRATED_PHRASES, err=True)


def _check_alone(context: click.Context) -> None:
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if given and name not in {"undo_file", "lang"}:
            raise InputError("{option} cannot be used with --undo.", option=parameter.opts[0])


def _applied(copy: Path | None, *, in_place: bool, yes: bool, phrases: bool) -> bool:
    if copy is not None and in_place:
        raise InputError(_("Give either --apply COPY or --in-place."))
    if phrases and not yes:
        raise InputError(_("--phrases needs --yes."))
    if yes and copy is None and not in_place:
        raise InputError(_("--yes needs --apply COPY or --in-place."))
    return copy is not None or in_place


def _check_choices(name: str | None, *, every: bool, out: Path | None, applied: bool) -> None:
    if every == (name is not None):
        raise InputError(_("Give either --note or --all."))
    if is_json() and applied:
        raise InputError(_("--json only shows suggestions. To write links, leave out --json."))
    if out is None:
        return
    if not every or applied or is_json():
        raise InputError(
            _("--out works only with --all. Leave out --apply, --in-place and --json.")
        )
    if out.suffix not in _LINES:
        raise InputError(
            "--out {file}: must end in one of {endings}", file=out, endings=sorted(_LINES)
        )


def _check_confirmation() -> None:
    if is_quiet():
        raise InputError(
            _("With --quiet, you cannot confirm links. Add --yes, or leave out --quiet.")
        )
    if not sys.stdin.isatty():
        raise InputError(
            _(
                "You cannot confirm links without a terminal. --yes links all names with at least"
                " --min-confidence, without confirmation."
            )
        )


def _check_places(notes: Path, out: Path | None, copy: Path | None) -> None:
    from gigamind.datasets.write import refuse_copy, refuse_existing_file

    if copy is not None:
        refuse_copy(notes, copy, option="--apply")
    if out is not None:
        refuse_existing_file("--out", out)
        if out.resolve().is_relative_to(notes.resolve()):
            raise InputError(
                "--out {file} is in the vault. Use a file outside the vault.", file=out
            )


def _note(vault: "Vault", identities: "Identities", name: str) -> "Note":
    resolution = identities.resolve(name)
    if resolution is None:
        close = difflib.get_close_matches(name, [note.path for note in vault.notes], n=1)
        problem = _("--note {name}: no such note in {vault}.", name=name, vault=vault.root)
        hint = _("Give the path of the note, relative to --notes.")
        if close:
            hint = _("Did you mean {note}?", note=close[0])
        raise InputError(joined((problem, hint), " "))
    if resolution.collision is not None:
        print_line(resolution.collision.message, err=True)
    return resolution.note
