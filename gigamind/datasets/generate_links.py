"""Generate a link dataset from a vault with links: remove some links in a copy and record them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from gigamind.datasets.sample import sample
from gigamind.datasets.schema import AnchorRange, LinkItem
from gigamind.datasets.write import copy_vault, refuse_places, write_rows
from gigamind.errors import EvaluationError, InputError, NotesError
from gigamind.i18n import Message
from gigamind.spans import Span, Utf16
from gigamind.vault.identity import Identities
from gigamind.vault.language import note_language
from gigamind.vault.markdown import Link
from gigamind.vault.notes import Note, Vault, content_hash, notes_hash

_CONTEXT_CHARS = 200  # code points on either side of an anchor


class NoteLink(NamedTuple):
    """A link in the running text of a note that leads to another note."""

    note: Note
    link: Link
    target: str  # path of the note that it leads to


class _GeneratedLinks(NamedTuple):
    """The generated dataset."""

    rows: tuple[LinkItem, ...]
    links: int  # number of removable links
    warnings: tuple[Message, ...]  # of the vault


def generate_links(
    notes: Path, out_notes: Path, dataset: Path, *, remove_ratio: float = 0.3, seed: int = 42
) -> _GeneratedLinks:
    """Copy a vault, remove a share of its links in the copy, at least one, and write a dataset of the removed links.

    Equal vaults, ratios, in (0, 1], and seeds give equal bytes.

    Raises:
        InputError: the ratio or a path is invalid, or the vault has no link to remove.
        NotesError: the vault cannot be read or copied, or changed in the meantime.
        EvaluationError: the dataset cannot be written.
    """
    if not 0 < remove_ratio <= 1:
        raise InputError(
            "--remove-ratio {ratio:g}: must be above 0 and at most 1", ratio=remove_ratio
        )
    refuse_places(notes, out_notes, dataset)
    before = notes_hash(notes)
    vault = Vault.read(notes)
    links = removable_links(vault, Identities(vault.notes))
    if not links:
        raise InputError(
            "{vault}: there is no link to remove, because no note links to another. Give a vault with [[links]].",
            vault=notes,
        )
    chosen = sample(links, float(remove_ratio), seed)
    changed, rows = _without(chosen)
    with copy_vault(notes, out_notes, changed) as copy:
        _check(copy, rows)
        if notes_hash(notes) != before:
            raise NotesError("{vault}: changed while it was copied. Try again.", vault=notes)
    write_rows(dataset, rows)
    return _GeneratedLinks(tuple(rows), len(links), vault.warnings)


def removable_links(vault: Vault, identities: Identities) -> list[NoteLink]:
    """Return links to other notes in the order of the vault.

    Embeds are left out, as are links in headings, around code or an image or without visible text.  So are notes that
    are not valid UTF-8, because their copy would differ in other places too.
    """
    removable: list[NoteLink] = []
    for note in vault.notes:
        if content_hash(note.text.encode()) != note.content_hash:
            continue
        entangled = _entangled(note)
        for link in note.document.links:
            resolution = identities.resolve_link(link, note.path)
            if resolution is None or resolution.note.path == note.path or link.embed:
                continue
            shown = link.text_span.slice(note.text)
            if link.text.strip() and link.span not in entangled and "`" not in shown:
                removable.append(NoteLink(note, link, resolution.note.path))
    return removable


def _entangled(note: Note) -> set[Span]:
    spans = [part.span for part in (*note.document.links, *note.document.headings)]
    entangled: set[Span] = set()
    around: Span | None = None
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if around is not None and span.start < around.end:
            entangled |= {span, around}
        else:
            around = span
    return entangled


def _without(chosen: Sequence[NoteLink]) -> tuple[dict[str, str], list[LinkItem]]:
    by_note: dict[str, list[NoteLink]] = {}
    for removed in chosen:
        by_note.setdefault(removed.note.path, []).append(removed)
    width = max(3, len(str(len(chosen))))
    changed: dict[str, str] = {}
    rows: list[LinkItem] = []
    for path, links in by_note.items():
        text, anchors = unlinked(links[0].note.text, [removed.link for removed in links])
        changed[path] = text
        units = Utf16(text)
        language = note_language(links[0].note)
        for removed, anchor in zip(links, anchors, strict=True):
            start, end = units.span_from_code_points(anchor)
            left = max(links[0].note.document.body_start, anchor.start - _CONTEXT_CHARS)
            row = LinkItem(
                id=f"l-{len(rows) + 1:0{width}}",
                source_note=path,
                anchor=anchor.slice(text),
                anchor_range=AnchorRange(start=start, end=end),
                context=text[left : anchor.end + _CONTEXT_CHARS].strip(),
                expected_links=(removed.target,),
                language=language,
                source="generated",
            )
            rows.append(row)
    return changed, rows


def unlinked(text: str, links: Sequence[Link]) -> tuple[str, list[Span]]:
    """Remove links, in text order, from a text and return the spans of their visible texts, without emphasis."""
    pieces: list[str] = []
    anchors: list[Span] = []
    done = length = 0
    for link in links:
        shown = _shown(link, text)
        inner = shown.find(link.text)
        at = length + link.span.start - done
        within = (0, len(shown)) if inner < 0 else (inner, inner + len(link.text))
        anchors.append(Span(at + within[0], at + within[1]))
        pieces += [text[done : link.span.start], shown]
        done, length = link.span.end, at + len(shown)
    return "".join([*pieces, text[done:]]), anchors


def _shown(link: Link, text: str) -> str:
    """Return what remains of a link. Obsidian shows `[[note#h1#h2]]` as "note > h1 > h2"."""
    written = link.text_span.slice(text)
    if not (link.wikilink and link.fragment) or "|" in link.span.slice(text):
        return written
    return " > ".join(part.strip() for part in written.split("#") if part.strip())


def _check(copy: Mapping[str, Path], rows: Sequence[LinkItem]) -> None:
    texts = {row.source_note: copy[row.source_note].read_bytes().decode() for row in rows}
    units = {path: Utf16(text) for path, text in texts.items()}
    for row in rows:
        place, path = cast("AnchorRange", row.anchor_range), row.source_note
        span = units[path].span_to_code_points(place.start, place.end)
        if span.slice(texts[path]) != row.anchor:
            raise EvaluationError(
                "{file}: the anchor range of row {id} does not match its anchor text",
                file=path,
                id=row.id,
            )
