"""`gigamind suggest-links`: suggest links for notes (seed 10.4) and write them."""

import difflib
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from pydantic import BaseModel, ConfigDict, Field

from gigamind.choices import SHOWN_CONFIDENCE
from gigamind.cli.command import OUTPUT_LANGUAGE, command, is_quiet, lang_option
from gigamind.cli.errors import print_line
from gigamind.cli.options import options_of
from gigamind.cli.output import is_json, prints_json, show_result
from gigamind.errors import InputError
from gigamind.evaluation.options import validated
from gigamind.i18n import LanguageChoice, Translator, _, joined, language_of, translator
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, default_cache_folder

if TYPE_CHECKING:
    from gigamind.cli.suggestions import Suggested
    from gigamind.linking.link_text import LinkWriter
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import Note, Vault

_LINES = {".jsonl", ".md"}
_PHRASES_LEFT_OUT = _(
    "Only note names were linked, because suggested phrases are less often right. To link phrases too, add"
    " --phrases."
)
_UNCALIBRATED = _(
    "The vault has too few links to calibrate the confidence, so the calibration comes from other vaults."
)


class SuggestLinksOptions(BaseModel):
    """Options of suggest-links."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    note: str | None = Field(
        None, description="suggest links for this note: its path or name in the vault"
    )
    all: bool = Field(default=False, description="suggest links for all notes in the vault")
    notes: Path = Field(Path(), description="the vault")
    max: int = Field(10, ge=1, description="maximum number of suggestions per note")
    min_confidence: float = Field(
        SHOWN_CONFIDENCE, ge=0, le=1, description="lowest confidence of a suggestion, 0 to 1"
    )
    include_linked: bool = Field(
        default=False, description="also suggest links to notes that the note already links to"
    )
    semantic: bool = Field(
        default=True,
        description="suggest both note names and phrases that mean a note, or only note names",
    )
    embedder: str = Field(
        DEFAULT_EMBEDDER,
        description=(
            "embedding model that compares meanings: use-multilingual, e5-small, fastembed:<model> or litellm:<model>"
        ),
    )
    context_chars: int = Field(
        400,
        ge=1,
        description="number of characters around a link text that are compared with the target note",
    )
    out: Path | None = Field(
        None,
        description="with --all, write all suggestions to this file: .md for reading or .jsonl for programs",
    )
    apply: Path | None = Field(
        None, description="write the links into a copy of the vault in this folder"
    )
    in_place: bool = Field(
        default=False,
        description="write links into the original notes; --undo removes them again",
    )
    yes: bool = Field(
        default=False, description="link all suggested note names without confirmation"
    )
    phrases: bool = Field(
        default=False,
        description="with --yes, also link phrases from the text; --yes alone links only note names",
    )
    undo: Path | None = Field(
        None,
        description="remove the links that --in-place wrote, as listed in this undo file",
    )

    @property
    def writes_links(self) -> bool:
        """Return whether links are written, into a copy or in place."""
        return self.apply is not None or self.in_place


@command(
    "suggest-links",
    examples=(
        "gigamind suggest-links --note projects/launch.md --notes vault",
        "gigamind suggest-links --all --notes vault --out suggestions.md",
        "gigamind suggest-links --all --notes vault --in-place --min-confidence 0.8",
    ),
)
@options_of(SuggestLinksOptions)
@lang_option(OUTPUT_LANGUAGE, show_default=False)
@prints_json
@click.pass_context
def suggest(context: click.Context, *, lang: LanguageChoice, **given: Any) -> None:  # noqa: ANN401  checked by the options model
    """Suggest links for one note or all notes, each with a confidence and a reason, and optionally write them.

    Ranges in JSON count UTF-16 code units of the file, as editors do. The start is included, the end is not.

    With --apply or --in-place, you confirm each link. With --yes, note names are linked without confirmation.
    --in-place keeps a backup of the notes and an undo file in .gigamind/links in the vault.
    """
    options = validated(SuggestLinksOptions, given)
    say = translator(language_of(lang))
    if options.undo is not None:
        _check_alone(context)
        from gigamind.cli.suggestions import undone

        undone(options.undo, say)
        return
    _check_choices(options)
    _check_places(options)
    if options.writes_links and not options.yes:
        from gigamind.cli.suggestions import check_terminal

        if is_quiet():
            raise InputError(
                _("With --quiet, you cannot confirm links. Add --yes, or leave out --quiet.")
            )
        check_terminal()
    from gigamind.cli.progress import progress_bar
    from gigamind.cli.suggestions import Suggested, note_document, write_links
    from gigamind.linking.link_text import LinkWriter
    from gigamind.linking.suggest import SuggestOptions, load_suggester
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import read_vault

    vault = read_vault(options.notes)
    identities = Identities(vault.notes)
    chosen = vault.notes if options.note is None else (_note(vault, identities, options.note),)
    limits = SuggestOptions(
        options.max,
        options.min_confidence,
        not options.include_linked,
        options.context_chars,
        language=say.language,
    )
    with progress_bar() as progress:
        suggester = load_suggester(
            vault,
            identities,
            options.embedder if options.semantic else None,
            default_cache_folder(),
            functools.partial(progress.stage, _("Names")),
        )
        suggester.prepare(chosen, functools.partial(progress.stage, _("Phrases")), limits)
        all_suggested: list[Suggested] = []
        has_phrases = False
        for note in chosen:
            suggestions = suggester.suggest(note, limits)
            shown = [
                entry
                for entry in suggestions
                if options.phrases or not options.yes or not entry.is_phrase
            ]
            has_phrases |= len(shown) < len(suggestions)
            all_suggested.append(Suggested(note, shown))
            progress.stage(_("Notes"), len(all_suggested), len(chosen))
        suggester.keep()
    writer = LinkWriter(vault, identities)
    is_unknown = suggester.habits.calibration.is_of_other_vaults
    if options.writes_links:
        write_links(all_suggested, vault, writer, options.apply, say, yes=options.yes)
        if has_phrases:
            print_line(_PHRASES_LEFT_OUT)
    else:
        documents = [note_document(suggested) for suggested in all_suggested]
        show_result(
            documents if options.all else documents[0],
            lambda: _show(all_suggested, writer, options, say, names_first=is_unknown),
        )
    is_any = any(suggested.suggestions for suggested in all_suggested)
    if is_any and is_unknown and not is_quiet():
        print_line(_UNCALIBRATED, err=True)


def _check_alone(context: click.Context) -> None:
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if given and name not in {"undo", "lang"}:
            raise InputError("{option} cannot be used with --undo.", option=parameter.opts[0])


def _check_choices(options: SuggestLinksOptions) -> None:
    if options.apply is not None and options.in_place:
        raise InputError(_("Give either --apply COPY or --in-place."))
    if options.phrases and not options.yes:
        raise InputError(_("--phrases needs --yes."))
    if options.yes and not options.writes_links:
        raise InputError(_("--yes needs --apply COPY or --in-place."))
    if options.all == (options.note is not None):
        raise InputError(_("Give either --note or --all."))
    if is_json() and options.writes_links:
        raise InputError(_("--json only shows suggestions. To write links, leave out --json."))
    if options.out is None:
        return
    if not options.all or options.writes_links or is_json():
        raise InputError(
            _("--out works only with --all. Leave out --apply, --in-place and --json.")
        )
    if options.out.suffix not in _LINES:
        raise InputError(
            "--out {file}: must end in one of {endings}", file=options.out, endings=sorted(_LINES)
        )


def _check_places(options: SuggestLinksOptions) -> None:
    from gigamind.datasets.write import refuse_copy, refuse_existing_file

    notes, out = options.notes, options.out
    if options.apply is not None:
        refuse_copy(notes, options.apply, option="--apply")
    if out is not None:
        refuse_existing_file("--out", out)
        if out.resolve().is_relative_to(notes.resolve()):
            raise InputError(
                "--out {file} is in the vault. Use a file outside the vault.", file=out
            )


def _show(
    all_suggested: "Sequence[Suggested]",
    writer: "LinkWriter",
    options: SuggestLinksOptions,
    say: Translator,
    *,
    names_first: bool,
) -> None:
    from gigamind.cli import suggestions

    out = options.out
    if not options.all:
        click.echo(suggestions.note_text(all_suggested[0], writer, say))
        return
    if out is not None:
        from gigamind.datasets.write import write_lines

        lines = suggestions.as_json(all_suggested)
        if out.suffix == ".md":
            lines = [suggestions.vault_text(all_suggested, writer, say)]
        write_lines(out, lines)
    click.echo(suggestions.summary(all_suggested, writer, say, names_first=names_first))
    where = _("For all suggestions by note, add --out FILE.md (or .jsonl).")
    if out:
        where = _("All suggestions: {file}", file=out)
    click.echo(f"\n{say(where)}")


def _note(vault: "Vault", identities: "Identities", name: str) -> "Note":
    resolution = identities.resolve(name)
    if resolution is None:
        paths = [note.path for note in vault.notes]
        close = difflib.get_close_matches(name, paths, n=1)
        problem = _("--note {name}: no such note in {vault}.", name=name, vault=vault.root)
        hint = _("Give the path of the note, relative to --notes.")
        if close:
            hint = _("Did you mean {note}?", note=close[0])
        raise InputError(joined((problem, hint), " "))
    if resolution.collision is not None:
        print_line(resolution.collision.message, err=True)
    return resolution.note
