"""`gigamind suggest-links`: which words of a note could be links (seed 10.4)."""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from gigamind.errors import InputError
from gigamind.linking.relatedness import Relatedness
from gigamind.linking.suggest import LinkSuggester, LinkSuggestion, SuggestOptions
from gigamind.retrieval.cache import Cache, default_cache_folder
from gigamind.retrieval.providers import load_embedder
from gigamind.spans import Utf16
from gigamind.text import printable
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note, Vault, read_vault

_NO_EMBEDDER = "none"
_share = click.FloatRange(0, 1)


@click.command("suggest-links")
@click.option("--note", "name", help="path or name of one note of the vault")
@click.option("--all", "every", is_flag=True, help="every note of the vault")
@click.option(
    "--notes", type=click.Path(path_type=Path), default=".", show_default=True, help="the vault"
)
@click.option(
    "--max",
    "most",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="suggestions a note",
)
@click.option(
    "--min-confidence",
    type=_share,
    default=0.3,
    show_default=True,
    help="leave out what is less sure",
)
@click.option(
    "--include-linked",
    is_flag=True,
    help="also suggest notes that are linked already elsewhere in the note",
)
@click.option(
    "--embedder",
    default=_NO_EMBEDDER,
    show_default=True,
    help="weigh meaning too: use-multilingual, fastembed:<model> or litellm:<model>",
)
@click.option(
    "--context-chars",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    help="text around an anchor in the JSON",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
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
    if every == (name is not None):
        raise InputError("give either --note or --all")
    vault = read_vault(notes)
    identities = Identities(vault.notes)
    chosen = vault.notes if name is None else (_note(vault, identities, name),)
    options = SuggestOptions(most, min_confidence, not include_linked, context_chars)
    suggester = LinkSuggester(vault, identities, _related(vault, embedder))
    found = {note.path: (note, suggester.suggest(note, options)) for note in chosen}
    if form == "json":
        shown = [_json(note, suggestions) for note, suggestions in found.values()]
        click.echo(json.dumps(shown if every else shown[0], indent=2, ensure_ascii=False))
    elif every:
        _print_all(found, identities)
    else:
        (only,) = found.values()
        _print(*only, identities)


def _related(vault: Vault, embedder: str) -> Relatedness | None:
    """What compares paragraphs with notes; vectors are kept beside those of searches."""
    if embedder == _NO_EMBEDDER:
        return None
    return Relatedness(vault, load_embedder(embedder), Cache(default_cache_folder()).embeddings)


def _note(vault: Vault, identities: Identities, name: str) -> Note:
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
    found: Mapping[str, tuple[Note, list[LinkSuggestion]]], identities: Identities
) -> None:
    total = sum(len(suggestions) for _, suggestions in found.values())
    having = [entry for entry in found.values() if entry[1]]
    click.echo(f"{total} link suggestions in {len(having)} of {len(found)} notes.")
    for note, suggestions in having:
        click.echo(f"\n# {printable(note.path)}")
        _print(note, suggestions, identities)


def _print(note: Note, suggestions: Sequence[LinkSuggestion], identities: Identities) -> None:
    if not suggestions:
        click.echo("No link suggestions.")
        return
    several = "" if len(suggestions) == 1 else "s"
    click.echo(f"Found {len(suggestions)} link suggestion{several}:")
    units = Utf16(note.text)
    for number, one in enumerate(suggestions, start=1):
        start, end = units.span_from_code_points(one.span)
        click.echo(
            f'\n{number}. "{printable(one.anchor)}" → [[{printable(_link(one, identities))}]]\n'
            f"   Position: {start}-{end}, Confidence: {one.confidence:.2f}\n"
            f"   Reason: {one.reason}"
        )


def _link(suggestion: LinkSuggestion, identities: Identities) -> str:
    """What to write between the brackets: the file name, or the path where that means several notes."""
    path = suggestion.target.removesuffix(".md")
    stem = path.rsplit("/", 1)[-1]
    meant = identities.resolve(stem)
    unique = meant is not None and meant.note.path == suggestion.target and not meant.ignored
    return stem if unique else path


def _json(note: Note, suggestions: Sequence[LinkSuggestion]) -> dict[str, object]:
    units = Utf16(note.text)
    rows: list[dict[str, object]] = []
    for one in suggestions:
        start, end = units.span_from_code_points(one.span)
        rows.append(
            {
                "anchor": one.anchor,
                "anchor_range": {"start": start, "end": end},
                "suggested_target": one.target,
                "target_title": one.target_title,
                "confidence": one.confidence,
                "reason": one.reason,
                "context": one.context,
                "features": asdict(one.features),
            }
        )
    return {"note": note.path, "suggestions": rows}
