"""`gigamind suggest-links`: which words of a note could be links (seed 10.4)."""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gigamind.errors import InputError
from gigamind.spans import Utf16
from gigamind.text import printable

if TYPE_CHECKING:
    from gigamind.linking.relatedness import Relatedness
    from gigamind.linking.suggest import LinkSuggestion
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import Note, Vault

_NO_EMBEDDER = "none"
_share, _count = click.FloatRange(0, 1), click.IntRange(min=0)


@click.command("suggest-links", context_settings={"show_default": True})
@click.option("--note", "name", help="path or name of one note of the vault")
@click.option("--all", "every", is_flag=True, help="every note of the vault")
@click.option("--notes", type=click.Path(path_type=Path), default=".", help="the vault")
@click.option("--max", "most", type=click.IntRange(min=1), default=10, help="suggestions a note")
@click.option("--min-confidence", type=_share, default=0.3, help="leave out what is less sure")
@click.option(
    "--include-linked",
    is_flag=True,
    help="also suggest notes that are linked already elsewhere in the note",
)
@click.option(
    "--embedder",
    default=_NO_EMBEDDER,
    help="weigh meaning too: use-multilingual, e5-small, fastembed:<model> or litellm:<model>",
)
@click.option("--context-chars", type=_count, default=200, help="text around an anchor in the JSON")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def suggest(
    *,
    name: str | None,
    notes: Path,
    most: int,
    min_confidence: float,
    embedder: str,
    context_chars: int,
    form: str,
    every: bool,
    include_linked: bool,
) -> None:
    """Suggest links for one note, or for all, with confidence and reason.

    Positions are UTF-16 code units of the note's file, half-open, as editors count them.
    """
    from gigamind.linking.suggest import LinkSuggester, SuggestOptions
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import read_vault

    if every == (name is not None):
        raise InputError("give either --note or --all")
    vault = read_vault(notes)
    identities = Identities(vault.notes)
    chosen = vault.notes if name is None else (_note(vault, identities, name),)
    options = SuggestOptions(most, min_confidence, not include_linked, context_chars)
    suggester = LinkSuggester(vault, identities, _related(vault, embedder))
    by_note = {note.path: (note, suggester.suggest(note, options)) for note in chosen}
    if form == "json":
        shown = [_json(note, suggestions) for note, suggestions in by_note.values()]
        click.echo(json.dumps(shown if every else shown[0], indent=2, ensure_ascii=False))
    elif every:
        _print_all(by_note, identities)
    else:
        (only,) = by_note.values()
        _print(*only, identities)


def _related(vault: "Vault", embedder: str) -> "Relatedness | None":
    """What compares paragraphs with notes; vectors are kept beside those of searches."""
    if embedder == _NO_EMBEDDER:
        return None
    from gigamind.linking.relatedness import Relatedness
    from gigamind.retrieval.cache import Cache
    from gigamind.retrieval.embedders import load_embedder
    from gigamind.retrieval.settings import default_cache_folder

    return Relatedness(vault, load_embedder(embedder), Cache(default_cache_folder()).embeddings)


def _note(vault: "Vault", identities: "Identities", name: str) -> "Note":
    resolution = identities.resolve(name)
    if resolution is None:
        paths = [note.path for note in vault.notes]
        close = difflib.get_close_matches(name, paths, n=1)
        guess = f" Did you mean {close[0]}?" if close else " Give its path, relative to --notes."
        raise InputError(f"--note {name}: no such note in {vault.root}.{guess}")
    if resolution.collision is not None:
        click.echo(str(resolution.collision), err=True)
    return resolution.note


def _print_all(
    by_note: "Mapping[str, tuple[Note, list[LinkSuggestion]]]", identities: "Identities"
) -> None:
    total = sum(len(suggestions) for _, suggestions in by_note.values())
    having = [entry for entry in by_note.values() if entry[1]]
    click.echo(f"{total} link suggestions in {len(having)} of {len(by_note)} notes.")
    for note, suggestions in having:
        click.echo(f"\n# {printable(note.path)}")
        _print(note, suggestions, identities)


def _print(note: "Note", suggestions: "Sequence[LinkSuggestion]", identities: "Identities") -> None:
    if not suggestions:
        click.echo("No link suggestions.")
        return
    several = "" if len(suggestions) == 1 else "s"
    click.echo(f"Found {len(suggestions)} link suggestion{several}:")
    units = Utf16(note.text)
    for number, suggestion in enumerate(suggestions, start=1):
        start, end = units.span_from_code_points(suggestion.span)
        click.echo(
            f'\n{number}. "{printable(suggestion.anchor)}" → [[{printable(_link(suggestion, identities))}]]\n'
            f"   Position: {start}-{end}, Confidence: {suggestion.confidence:.2f}\n"
            f"   Reason: {suggestion.reason}"
        )


def _link(suggestion: "LinkSuggestion", identities: "Identities") -> str:
    """What to write between the brackets: the file name, or the path where that means several notes."""
    path = suggestion.target.removesuffix(".md")
    stem = path.rsplit("/", 1)[-1]
    meant = identities.resolve(stem)
    unique = meant is not None and meant.note.path == suggestion.target and not meant.ignored
    return stem if unique else path


def _json(note: "Note", suggestions: "Sequence[LinkSuggestion]") -> dict[str, object]:
    units = Utf16(note.text)
    rows: list[dict[str, object]] = []
    for suggestion in suggestions:
        start, end = units.span_from_code_points(suggestion.span)
        rows.append(
            {
                "anchor": suggestion.anchor,
                "anchor_range": {"start": start, "end": end},
                "suggested_target": suggestion.target,
                "target_title": suggestion.target_title,
                "confidence": suggestion.confidence,
                "reason": suggestion.reason,
                "context": suggestion.context,
                "features": asdict(suggestion.features),
            }
        )
    return {"note": note.path, "suggestions": rows}
