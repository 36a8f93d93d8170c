"""Generate a query dataset from a vault without a model, by forms, each question with the passage that answers it.

Questions repeat the words of a note's title or heading, so they are easier than human ones. Near misses are questions
with one word changed.
"""

import calendar
import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

from gigamind.choices import FORMS, Form
from gigamind.datasets.sample import sample
from gigamind.datasets.schema import GENERATED, ExpectedSpan, QueryItem
from gigamind.datasets.write import copy_vault, refuse_existing_file, refuse_places, write_rows
from gigamind.errors import InputError
from gigamind.i18n import Message, _, ends_in_consonant, joined, n_, or_english, with_particle
from gigamind.spans import Span, Utf16
from gigamind.text import sentences, tokens
from gigamind.vault.identity import key
from gigamind.vault.language import note_language
from gigamind.vault.markdown import Block
from gigamind.vault.notes import Note, Vault

_DEEPEST = 3
_MAX_EVIDENCE = 500  # characters of a section's first block that are labelled as its evidence
_PLACE = re.compile(r"\{([THh])(?::(이/가|은/는|을/를))?\}")
_WORD = re.compile(r"[가-힣]|[^\W\d_]{2}")
_ORNAMENT_BEFORE = re.compile(r"^[^\w(（\[‘“\"']+")
_ORNAMENT = r"[^\w)）\]’”\"'?？!.%+]"
_ORNAMENT_BEHIND = re.compile(rf"(?<!{_ORNAMENT}){_ORNAMENT}+$")
_NUMBER = re.compile(r"^(?:(?:\d+\.)+\d*|\d+\)|\d+\s[-–—])\s+")
# Headings that are not nouns, by language: the first match decides. {h} is {H} with a lower-case first letter.
_OTHER_PATTERNS = {
    "ko": (
        (r"[?？]$|(?:는가|은가|인가|나요|까요?|니까)$", "{T}: {H}?"),
        (r"^(?:무엇|무슨|왜|어떻게|언제|어디|누가|누구|얼마|어느|몇)", "{T}: {H}?"),
        (r"(?:다면|라면|하면|되면|으면|때|에|에는|에서)$", "{T}: {H} 어떻게 하나요?"),
        (r"(?:다|요|죠)\.?$", "{T}에서 ‘{H}’ 부분을 알려 주세요."),
    ),
    "en": (
        (r"(?i)^(?:when|if)\b(?! and)(?!.*\?$)", "{T}: what to do {h}?"),
        (r"(?i)^(?:you|we|it|they|i)\b", "What is written in {T} under “{H}”?"),
        (r"(?i)\?$|^(?:why|how|what|when|where|who|which)\b", "{T}: {h}?"),
    ),
}
# {T} is the title, {H} the subject, {T:이/가} the title with its particle.
_PATTERNS = {
    "ko": {
        "title": (
            "{T:이/가} 어떻게 되어 있나요?",
            "{T:은/는} 무엇인가요?",
            "{T:을/를} 알고 싶은데 어디에 정리되어 있나요?",
            "{T}에 대해 알려 주세요.",
        ),
        "heading": (
            "{T}에서 {H:은/는} 어떻게 되어 있나요?",
            "{T}에서 {H:이/가} 뭔가요?",
            "{T}에서 {H:을/를} 확인하고 싶어요.",
            "{T}의 {H}에 대해 알려 주세요.",
        ),
    },
    "en": {
        "title": (
            "What do we know about {T}?",
            "What should I know about {T}?",
            "Where is {T} written down?",
            "Can you tell me about {T}?",
        ),
        "heading": (
            "What does {T} say about {H}?",
            "In {T}, what is there on {H}?",
            "Where in {T} can I read about {H}?",
        ),
    },
}


@dataclass(frozen=True, slots=True)
class _Draft:
    """A question in parts, of which near misses change one."""

    form: Form
    patterns: tuple[str, ...]  # templates, of which one is filled in
    title: str
    subject: str = ""  # subject within the note; "" for the note itself
    evidence: Span | None = None  # of the answer; None if it is the whole note, or missing
    change: str = ""  # what a near miss changed: year, version or name; otherwise ""

    @property
    def question(self) -> str:
        """Return one of the patterns, filled in; the choice depends only on the words, so it is reproducible."""
        digest = hashlib.sha256(f"{self.title}\0{self.subject}".encode()).digest()
        pattern = self.patterns[int.from_bytes(digest[:4], "big") % len(self.patterns)]
        small = self.subject[:1].lower() + self.subject[1:]
        words = {"T": self.title, "H": self.subject, "h": small}

        def fill(place: re.Match[str]) -> str:
            word, pair = words[place[1]], cast("Any", place[2])
            return with_particle(word, pair) if pair else word

        return _PLACE.sub(fill, pattern)


def _says_something(note: Note, start: int, end: int) -> bool:
    """Return whether this part of a note has a block other than a heading or a rule."""
    return next(_content(note, start, end), None) is not None


def _content(note: Note, start: int, end: int) -> Iterator[Block]:
    for block in note.document.blocks:
        if block.kind not in {"heading", "rule"} and start <= block.span.start < end:
            yield block


def _drafts(note: Note) -> Iterator[_Draft]:
    """Yield every question of a note except near misses, the title's first."""
    language = or_english(note_language(note), _PATTERNS)
    title = _title(note)
    asks = title.endswith(("?", "？"))
    yield _Draft("title", ("{T}",) if asks else _PATTERNS[language]["title"], title)
    of_title = set(tokens(title))
    for draft in _of_headings(note, language, title):
        # With words of the title alone it would repeat the question about the title.
        if not set(tokens(draft.subject)) <= of_title or draft.title != title:
            yield draft


def _title(note: Note) -> str:
    """Return the title of the frontmatter, otherwise the first heading of level 1: a file name makes a bad question."""
    if note.title == note.stem:
        first = (_trimmed(h.text) for h in note.document.headings if h.level == 1)
        return next(filter(None, first), note.title)
    return note.title


def _trimmed(text: str) -> str:
    return _ORNAMENT_BEHIND.sub("", _ORNAMENT_BEFORE.sub("", text))


def _of_headings(note: Note, language: str, title: str) -> Iterator[_Draft]:
    seen = {key(title)}
    headings = note.document.headings
    for index, heading in enumerate(headings):
        below = (later for later in headings[index + 1 :] if later.level <= heading.level)
        end = next((later.span.start for later in below), len(note.text))
        text = _trimmed(_NUMBER.sub("", heading.text))
        name = key(text)
        if heading.level > _DEEPEST or name in seen or not _WORD.search(name):
            continue
        seen.add(name)
        block = next(_content(note, heading.span.end, end), None)
        if block is None:
            continue
        # The first lines or sentences of the block, at least one.
        pieces = sentences(block.span.slice(note.text))
        fitting = [piece.end for piece in pieces if piece.end <= _MAX_EVIDENCE]
        size = (fitting or [piece.end for piece in pieces[:1]])[-1]
        evidence = Span(block.span.start, block.span.start + size)
        if heading.level == 1:  # a second title, which stands alone
            asks = text.endswith(("?", "？"))
            patterns = ("{T}",) if asks else _PATTERNS[language]["title"]
            yield _Draft("heading", patterns, text, evidence=evidence)
        else:
            shapes = (p for shape, p in _OTHER_PATTERNS[language] if re.search(shape, text))
            other = next(shapes, None)
            patterns = (other,) if other else _PATTERNS[language]["heading"]
            yield _Draft("heading", patterns, title, text.rstrip("?？!. "), evidence=evidence)


_YEAR = re.compile(r"(?<![\d.])(?:19|20)\d\d(?![\d.])")
_VERSION = re.compile(r"\bv\d+(?:\.\d+)*\b|(?<=[A-Za-z] )\d+(?:\.\d+)+\b")
_FURTHEST = 40
# A name is capitalised inside sentences and never occurs in lower case.
_NAME = re.compile(r"(?<=[a-z,가-힣] )[A-Z][a-z]{2,}\b")
_LATIN = re.compile(r"\b[A-Z][a-z]{2,}\b")
_LEAST_NAMED = 2
_NO_NAMES = frozenset((*calendar.month_name, *calendar.day_name))
_STRANGERS = ("Ravenholt", "Quillmere", "Tervana", "Ostrander", "Belvoire", "Kestrelby", "Lindaro")
_CITY_NAMES = (
    "서울|부산|대구|인천|광주|대전|울산|수원|전주|청주|포항|제주|강릉|목포|여수|춘천|진주|천안|원주|군산|경주|안동|순천|통영"
    "|속초|김천|나주"
)
_CITIES: Sequence[str] = _CITY_NAMES.split("|")
# Only particles that fit every city with the same kind of final sound may follow.
_CITY = re.compile(
    rf"(?<![가-힣])(?:{_CITY_NAMES})(?=$|[^가-힣]|(?:시|점|은|는|이|가|을|를|의|에|에서|로|으로)(?![가-힣]))"
)


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The words of a vault."""

    text: str  # all texts and paths, in lower case
    names: frozenset[str]  # capitalised words that are names

    @classmethod
    def of(cls, notes: Iterable[Note]) -> Self:
        """Return the vocabulary of these notes."""
        texts = [f"{note.path}\n{note.text}" for note in notes]
        named = Counter(name for text in texts for name in _NAME.findall(_prose(text)))
        small = {word for text in texts for word in re.findall(r"\b[a-z]{3,}\b", text)}
        names = {
            n for n, count in named.items() if count >= _LEAST_NAMED and n.lower() not in small
        }
        return cls("\n".join(texts).lower(), frozenset(names - _NO_NAMES))

    def knows(self, word: str) -> bool:
        """Return whether the word occurs anywhere in the vault."""
        return word.lower() in self.text


def _near_misses(draft: _Draft, vault: _Vocabulary) -> Iterator[_Draft]:
    """Yield the question with one word changed, once for each kind of word in it."""
    for place in ("subject", "title"):
        words: str = getattr(draft, place)
        for change, old, new in _changes(words, vault):
            changed = {place: words.replace(old, new)}
            yield replace(draft, form="near-miss", change=change, evidence=None, **changed)


def _changes(words: str, vault: _Vocabulary) -> Iterator[tuple[str, str, str]]:
    if year := _YEAR.search(words):
        others = (str(int(year[0]) + d * s) for d in range(1, _FURTHEST) for s in (1, -1))
        yield from _first_unknown("year", year[0], others, vault)
    if version := _VERSION.search(words):
        head, last = re.fullmatch(r"(.*?)(?<!\d)(\d+)", version[0]).groups()  # pyright: ignore[reportOptionalMemberAccess]  it ends so
        others = (f"{head}{int(last) + d}" for d in range(1, _FURTHEST))
        yield from _first_unknown("version", version[0], others, vault)
    for name in _LATIN.findall(words):
        if name in vault.names:
            start = sum(map(ord, name)) % len(_STRANGERS)
            strangers = (*_STRANGERS[start:], *_STRANGERS[:start])
            yield from _first_unknown("name", name, strangers, vault)
            break
    if city := _CITY.search(words):
        start = _CITIES.index(city[0])
        alike = (
            other
            for other in (*_CITIES[start:], *_CITIES[:start])
            if ends_in_consonant(other) == ends_in_consonant(city[0])
        )
        yield from _first_unknown("name", city[0], alike, vault)


def _first_unknown(
    change: str, old: str, others: Iterable[str], vault: _Vocabulary
) -> Iterator[tuple[str, str, str]]:
    new = next((other for other in others if not vault.knows(other)), None)
    if new is not None:
        yield change, old, new


def _prose(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


_LEAST_COMMON = 5  # notes
# What a note needs for a question of each form.
_NEEDS: Mapping[Form, Message] = {
    "title": _("a title"),
    "heading": _("a heading of level 1 to 3 that few other notes have, with text below it"),
    "near-miss": _(
        "a title or heading with a year, version or name that can be replaced by another"
    ),
    "left-out": _("a name that no other note contains"),
}
_ORDER: tuple[Form, ...] = (*FORMS, "left-out")
_UNANSWERABLE: frozenset[Form] = frozenset({"near-miss", "left-out"})


@dataclass(frozen=True, slots=True)
class QueryForms:
    """Options of the generation."""

    forms: tuple[Form, ...] = ("title",)
    per_note: int = 3  # maximum number of answerable questions per note, at least 1
    unanswerable_per_note: int = 1  # maximum of near misses, and of questions about a left-out note
    leave_out: float = 0.0  # share of the notes, in [0, 1); what only they answer is unanswerable
    limit: int | None = None  # total number of questions; None for all
    seed: int = 42


@dataclass(frozen=True, slots=True)
class _GeneratedQueries:
    """The generated dataset."""

    rows: tuple[QueryItem, ...]
    empty_notes: tuple[str, ...]  # notes without text, which give no questions, in path order
    notes: int  # number of notes with text
    left_out: tuple[str, ...]  # paths of the notes that the copy lacks
    by_form: Mapping[Form, tuple[int, int]]  # questions taken, and notes that could give one
    warnings: tuple[Message, ...]  # of the vault, and about questions that could not be generated


def generate_queries(
    notes: Path, out: Path, wanted: QueryForms, out_notes: Path | None = None
) -> _GeneratedQueries:
    """Write a dataset of questions about a vault, and to `out_notes` the copy without left-out notes, if any.

    Raises:
        InputError: a path is invalid, no note has text, or none gives a question of these forms.
        NotesError: the vault cannot be read or copied.
        EvaluationError: the dataset cannot be written.
    """
    if (out_notes is None) != (wanted.leave_out == 0.0):
        raise InputError(
            _(
                "Use --leave-out and --out-notes together: --out-notes is the folder for the vault copy without"
                " the notes that were left out"
            )
        )
    if out_notes is None:
        refuse_query_place(notes, out)
    else:
        refuse_places(notes, out_notes, out, option="--out")
    generated = _queries(Vault.read(notes), wanted)
    if not generated.rows:
        head = _("{vault}: no question could be generated", vault=notes)
        raise InputError(joined([head, *generated.warnings], separator="\n"))
    if out_notes is not None:
        with copy_vault(notes, out_notes, {}, generated.left_out):
            pass  # the copy needs no changes
    write_rows(out, generated.rows)
    return generated


def refuse_query_place(notes: Path, out: Path) -> None:
    """Raise InputError if a dataset would be inside the vault or replace a file."""
    if out.resolve().is_relative_to(notes.resolve()):
        raise InputError("--out {file}: is inside the vault. Name a file outside it.", file=out)
    refuse_existing_file("--out", out)


def askable_notes(vault: Vault) -> tuple[list[Note], list[str]]:
    """Return the notes with text, and the paths of those without; InputError if no note has text."""
    askable = [note for note in vault.notes if _has_text(note)]
    if not askable:
        raise InputError(
            "{vault}: no note has text, so no question can be generated", vault=vault.root
        )
    return askable, [note.path for note in vault.notes if not _has_text(note)]


def _has_text(note: Note) -> bool:
    return _says_something(note, note.document.body_start, len(note.text))


def _queries(vault: Vault, wanted: QueryForms) -> _GeneratedQueries:
    """Return the generated rows of a vault, in its order; InputError if no note has text or a number is invalid."""
    for option, number in (("--max-per-note", wanted.per_note), ("--limit", wanted.limit)):
        if number is not None and number < 1:
            raise InputError("{option} {number}: must be 1 or more", option=option, number=number)
    if not 0.0 <= wanted.leave_out < 1.0:
        raise InputError(
            "--leave-out {share:g}: must be at least 0 and below 1", share=wanted.leave_out
        )
    askable, empty = askable_notes(vault)
    drawn = sample(askable, float(wanted.leave_out), wanted.seed) if wanted.leave_out else ()
    gone = {note.path for note in drawn}
    askable = [note for note in askable if note.path not in gone]
    if not askable:
        raise InputError(
            "--leave-out {share:g}: no note with text would remain in the copy",
            share=wanted.leave_out,
        )
    vocabulary = _Vocabulary.of(askable) if drawn or "near-miss" in wanted.forms else None
    offers = _offers(askable, wanted, vocabulary)
    for note in drawn:
        own = [
            replace(draft, form="left-out", evidence=None)
            for draft in _drafts(note)
            if vocabulary and not vocabulary.knows(draft.subject or draft.title)
        ]
        random.Random(f"{wanted.seed} left-out {note.path}").shuffle(own)  # noqa: S311
        offers.append({"left-out": own})
    taken = _taken(offers, wanted)
    askable += drawn
    counts = Counter(draft.form for of_note in taken for draft in of_note)
    by_form: dict[Form, tuple[int, int]] = {
        form: (counts[form], sum(bool(offer.get(form)) for offer in offers))
        for form in _ORDER
        if form in wanted.forms or (form == "left-out" and drawn)
    }
    rows = _rows(askable, taken)
    warnings = list(vault.warnings)
    warnings += [
        _(
            "no question of the form {form}: none of {notes:,} notes has {needed}",
            form=form,
            notes=len(askable),
            needed=_NEEDS[form],
        )
        for form, (_taken_of_form, able) in by_form.items()
        if not able
    ]
    if wanted.limit is not None and len(rows) < wanted.limit:
        warning = n_(
            "--limit {limit:,}: only {n} question could be generated. For more, add forms (--forms) or notes,"
            " or raise --max-per-note.",
            "--limit {limit:,}: only {n:,} questions could be generated. For more, add forms (--forms) or"
            " notes, or raise --max-per-note.",
            n=len(rows),
            limit=wanted.limit,
        )
        warnings.append(warning)
    left_out = tuple(note.path for note in drawn)
    return _GeneratedQueries(rows, tuple(empty), len(askable), left_out, by_form, tuple(warnings))


_Offer = dict[Form, list[_Draft]]


def _offers(
    notes: Sequence[Note], wanted: QueryForms, vocabulary: _Vocabulary | None
) -> list[_Offer]:
    """Return the possible questions of each note by form, shuffled by the seed."""
    all_drafts = [list(_drafts(note)) for note in notes]
    counts = Counter(
        name for of_note in all_drafts for name in {key(d.subject) for d in of_note if d.subject}
    )
    least = max(_LEAST_COMMON, len(all_drafts) // 10)
    common = {name for name, count in counts.items() if count >= least}
    offers: list[_Offer] = []
    for note, of_note in zip(notes, all_drafts, strict=True):
        kept = [draft for draft in of_note if key(draft.subject) not in common]
        if vocabulary and "near-miss" in wanted.forms:
            kept += [near for draft in kept for near in _near_misses(draft, vocabulary)]
        offer: _Offer = {form: [d for d in kept if d.form == form] for form in wanted.forms}
        for form, of_form in offer.items():
            random.Random(f"{wanted.seed} {form} {note.path}").shuffle(of_form)  # noqa: S311
        offers.append(offer)
    return offers


def _taken(offers: Sequence[_Offer], wanted: QueryForms) -> list[list[_Draft]]:
    """Select questions of each note in rounds: the form used least so far, title questions first."""
    order = list(range(len(offers)))
    random.Random(wanted.seed).shuffle(order)  # noqa: S311
    left: list[_Offer] = [{form: [*own] for form, own in offer.items()} for offer in offers]
    taken: list[list[_Draft]] = [[] for _offer in offers]
    used: Counter[Form] = Counter()
    questions: set[str] = set()
    before = -1
    while before < len(questions):
        before = len(questions)
        for note in order:
            if len(questions) == wanted.limit:
                break
            unanswerable = sum(draft.form in _UNANSWERABLE for draft in taken[note])
            full = {
                form: unanswerable >= wanted.unanswerable_per_note
                if form in _UNANSWERABLE
                else len(taken[note]) - unanswerable >= wanted.per_note
                for form in left[note]
            }
            open_forms: list[Form] = [
                form for form, of_form in left[note].items() if of_form and not full[form]
            ]
            if open_forms:
                form = min(open_forms, key=lambda form: (used[form], _ORDER.index(form)))
                draft = left[note][form].pop(0)
                taken[note].append(draft)
                used[form] += draft.question not in questions
                questions.add(draft.question)
    return taken


def _rows(notes: Sequence[Note], taken: Sequence[Sequence[_Draft]]) -> tuple[QueryItem, ...]:
    """Return one row per question; a question that two notes give expects both."""

    def place(draft: _Draft) -> tuple[bool, int, int, str]:
        # Title questions first, then by position in the note, unanswerable ones last.
        start = draft.evidence.start if draft.evidence else -1
        return draft.form in _UNANSWERABLE, start, _ORDER.index(draft.form), draft.question

    rows: dict[str, QueryItem] = {}
    for note, of_note in zip(notes, taken, strict=True):
        units = Utf16(note.text)
        for draft in sorted(of_note, key=place):
            row = _row(f"g-{len(rows) + 1:04}", draft, note, units)
            known = rows.get(row.query)
            rows[row.query] = row if known is None else both(known, row)
    return tuple(rows.values())


def both(known: QueryItem, row: QueryItem) -> QueryItem:
    """Merge two rows with the same question: the result expects what each of them expects."""
    notes = tuple(dict.fromkeys((*known.expected_notes, *row.expected_notes)))
    spans = tuple(dict.fromkeys((*known.expected_spans, *row.expected_spans)))
    return known.model_copy(update={"expected_notes": notes, "expected_spans": spans})


def _row(id_: str, draft: _Draft, note: Note, units: Utf16) -> QueryItem:
    spans: tuple[ExpectedSpan, ...] = ()
    if draft.evidence:
        start, end = units.span_from_code_points(draft.evidence)
        text = draft.evidence.slice(note.text)
        spans = (ExpectedSpan(note_path=note.path, start=start, end=end, text=text),)
    answerable = draft.form not in _UNANSWERABLE
    changed = (f"changed:{draft.change}",) if draft.change else ()
    return QueryItem(
        id=id_,
        query=draft.question,
        answerable=answerable,
        expected_notes=(note.path,) if answerable else (),
        expected_spans=spans,
        language=note_language(note),
        tags=(GENERATED, f"form:{draft.form}", *changed),
        source=GENERATED,
    )
