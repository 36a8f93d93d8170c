"""Makes a dataset of queries from a vault without a model: questions about the titles and headings of its notes.

Korean particles follow a word's last sound; for Latin words it is told by the spelling, as Korean writes them (이미지,
파일, 봇, 테스트).  Where it is not known, both forms stand: 이(가).
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gigamind.datasets.schema import QueryItem
from gigamind.datasets.write import refuse_existing_file, write_rows
from gigamind.errors import InputError
from gigamind.text import with_particle
from gigamind.vault.identity import key
from gigamind.vault.language import note_language
from gigamind.vault.markdown import Heading
from gigamind.vault.notes import Note, Vault, read_vault

_DEEPEST = 3
_PLACE = re.compile(r"\{([THh])(?::(이/가|은/는|을/를))?\}")
_WORD = re.compile(r"\w")
_ORNAMENT = re.compile(r"^[^\w(（\[‘“\"']+|[^\w)）\]’”\"'?？!.%+]+$")
# Headings that are no noun, by language: the first that fits decides.  {h} is {H} with a small first letter.
_OTHER_PATTERNS = {
    "ko": (
        (r"[?？]$|(?:는가|은가|인가|나요|까요?|니까)$", "{T}: {H}?"),
        (r"^(?:무엇|무슨|왜|어떻게|언제|어디|누가|누구|얼마|어느|몇)", "{T}: {H}?"),
        (r"(?:다면|라면|하면|되면|으면|때|에|에는|에서)$", "{T}: {H} 어떻게 하나요?"),
        (r"(?:다|요|죠)\.?$", "{T}에서 ‘{H}’ 부분을 알려 주세요."),
    ),
    "en": (
        (r"(?i)^(?:when|if)\b(?! and)(?!.*\?$)", "{T}: what to do {h}?"),
        (r"(?i)\?$|^(?:why|how|what|when|where|who|which)\b", "{T}: {h}?"),
    ),
}

# {T} is the title, {H} the heading, {T:이/가} the title with its particle.
_TITLE_PATTERNS = {
    "ko": (
        "{T:이/가} 어떻게 되어 있나요?",
        "{T:은/는} 무엇인가요?",
        "{T:을/를} 알고 싶은데 어디에 정리되어 있나요?",
        "{T}에 대해 알려 주세요.",
    ),
    "en": (
        "What do we know about {T}?",
        "What should I know about {T}?",
        "Where is {T} written down?",
        "Can you tell me about {T}?",
    ),
}
_HEADING_PATTERNS = {
    "ko": (
        "{T}에서 {H:은/는} 어떻게 되어 있나요?",
        "{T}에서 {H:이/가} 뭔가요?",
        "{T}에서 {H:을/를} 확인하고 싶어요.",
        "{T}의 {H}에 대해 알려 주세요.",
    ),
    "en": (
        "What does {T} say about {H}?",
        "In {T}, what is there on {H}?",
        "Where in {T} can I read about {H}?",
    ),
}


@dataclass(frozen=True, slots=True)
class GeneratedQueries:
    """What was generated.

    Attributes:
        empty_notes: notes without text, about which nothing can be asked, in path order.
        warnings: of the vault.
    """

    rows: tuple[QueryItem, ...]
    empty_notes: tuple[str, ...]
    warnings: tuple[str, ...]


def generate_queries(
    notes: Path, out: Path, *, max_per_note: int = 3, include_headers: bool = False
) -> GeneratedQueries:
    """Write a dataset of questions about a vault.  Equal vaults give equal bytes.

    Args:
        max_per_note: questions at most, from 1 on; the title's comes first.

    Raises:
        InputError: the place cannot be, or no note has text.
        NotesError: the vault cannot be read.
        EvaluationError: the dataset cannot be written.
    """
    if max_per_note < 1:
        raise InputError(f"--max-per-note {max_per_note}: must be 1 or more")
    refuse_query_place(notes, out)
    vault = read_vault(notes)
    made = queries(vault, max_per_note, include_headers=include_headers)
    write_rows(out, made.rows)
    return made


def refuse_query_place(notes: Path, out: Path) -> None:
    """See to it that a dataset neither stands in the vault nor replaces another.

    Raises:
        InputError: it would.
    """
    if out.resolve().is_relative_to(notes.resolve()):
        raise InputError(f"--out {out}: lies in the vault. Name a file beside it.")
    refuse_existing_file("--out", out)


def askable_notes(vault: Vault) -> tuple[list[Note], list[str]]:
    """The notes with text, and the paths of those without.

    Raises:
        InputError: no note has text.
    """
    askable = [note for note in vault.notes if _has_text(note)]
    if not askable:
        raise InputError(f"{vault.root}: no note has text, so there is nothing to ask about.")
    return askable, [note.path for note in vault.notes if not _has_text(note)]


def _has_text(note: Note) -> bool:
    return _says_something(note, note.document.body_start, len(note.text))


def queries(vault: Vault, max_per_note: int, *, include_headers: bool) -> GeneratedQueries:
    """The rows of a vault, in its order.

    Raises:
        InputError: no note has text.
    """
    askable, empty = askable_notes(vault)
    rows: dict[str, QueryItem] = {}
    for note in askable:
        questions = dict.fromkeys(_questions(note, include_headers=include_headers))
        for question, tag in list(questions)[:max_per_note]:
            known = rows.get(question)
            rows[question] = QueryItem(
                id=known.id if known else f"g-{len(rows) + 1:04}",
                query=question,
                answerable=True,
                expected_notes=(*known.expected_notes, note.path) if known else (note.path,),
                language=note_language(note),
                tags=(tag,),
                source="generated",
            )
    return GeneratedQueries(tuple(rows.values()), tuple(empty), vault.warnings)


def _questions(note: Note, *, include_headers: bool) -> Iterator[tuple[str, str]]:
    """Each question with the tag that says what it was made from."""
    language = "ko" if note_language(note) == "ko" else "en"
    title = _title(note)
    yield _ask_title(language, title), "title"
    if not include_headers:
        return
    for heading in _headings(note, title):
        text = _trimmed(heading.text)
        if heading.level == 1:  # another title, which needs no title beside it
            yield _ask_title(language, text), "heading"
        else:
            others = (p for shape, p in _OTHER_PATTERNS[language] if re.search(shape, text))
            other = next(others, None)
            patterns = (other,) if other else _HEADING_PATTERNS[language]
            yield _ask(patterns, title, text.rstrip("?？!. ")), "heading"


def _title(note: Note) -> str:
    """The frontmatter's title, else the first heading of level 1: a file name is no way to ask."""
    if note.title == note.stem:
        first = (_trimmed(h.text) for h in note.document.headings if h.level == 1)
        return next(filter(None, first), note.title)
    return note.title


def _trimmed(text: str) -> str:
    """A heading without emoji and other signs around it."""
    return _ORNAMENT.sub("", text)


def _ask_title(language: str, title: str) -> str:
    return title if title.endswith(("?", "？")) else _ask(_TITLE_PATTERNS[language], title, "")


def _headings(note: Note, title: str) -> Iterator[Heading]:
    """Headings of level 1 to 3 with words in them and text below them, without the title and repetitions."""
    seen = {key(title)}
    headings = note.document.headings
    for index, heading in enumerate(headings):
        below = (later for later in headings[index + 1 :] if later.level <= heading.level)
        end = next((later.span.start for later in below), len(note.text))
        name = key(_trimmed(heading.text))
        if heading.level > _DEEPEST or name in seen or not _WORD.search(name):
            continue
        seen.add(name)
        if _says_something(note, heading.span.end, end):
            yield heading


def _says_something(note: Note, start: int, end: int) -> bool:
    """Whether a block other than a heading or a rule stands in this part of a note."""
    return any(
        block.kind not in {"heading", "rule"} and start <= block.span.start < end
        for block in note.document.blocks
    )


def _ask(patterns: tuple[str, ...], title: str, heading: str) -> str:
    """One of the patterns filled in: which one depends on the words alone, so equal words give equal questions."""
    digest = hashlib.sha256(f"{title}\0{heading}".encode()).digest()
    pattern = patterns[int.from_bytes(digest[:4], "big") % len(patterns)]

    def fill(place: re.Match[str]) -> str:
        words = {"T": title, "H": heading, "h": heading[:1].lower() + heading[1:]}
        word = words[place[1]]
        match place[2]:
            case "이/가" | "은/는" | "을/를" as pair:
                return with_particle(word, pair)
            case _:
                return word

    return _PLACE.sub(fill, pattern)
