"""Generate a query dataset from a vault without a model, by forms (see `question_forms.py`), with near misses."""

import calendar
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gigamind.choices import FORMS, Form
from gigamind.datasets.question_forms import Draft, drafts, says_something
from gigamind.datasets.sample import sample
from gigamind.datasets.schema import GENERATED, ExpectedSpan, QueryItem
from gigamind.datasets.write import copy_vault, refuse_existing_file, refuse_places, write_rows
from gigamind.errors import InputError
from gigamind.i18n import Message, _, ends_in_consonant, joined, n_
from gigamind.spans import Utf16
from gigamind.vault.identity import key
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note, Vault, read_vault

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
class Vocabulary:
    """The words of a vault."""

    text: str  # all texts and paths, in lower case
    names: frozenset[str]  # capitalised words that are names

    @classmethod
    def of(cls, notes: Iterable[Note]) -> "Vocabulary":
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


def near_misses(draft: Draft, vault: Vocabulary) -> Iterator[Draft]:
    """Yield the question with one word changed, once for each kind of word in it."""
    for place in ("subject", "title"):
        words: str = getattr(draft, place)
        for change, old, new in _changes(words, vault):
            changed = {place: words.replace(old, new)}
            yield replace(draft, form="near-miss", change=change, evidence=None, **changed)


def _changes(words: str, vault: Vocabulary) -> Iterator[tuple[str, str, str]]:
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
    change: str, old: str, others: Iterable[str], vault: Vocabulary
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
        "a year, version or name that can be replaced by another in the subject of a question"
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
class GeneratedQueries:
    """The generated dataset."""

    rows: tuple[QueryItem, ...]
    empty_notes: tuple[str, ...]  # notes without text, which give no questions, in path order
    notes: int  # number of notes with text
    left_out: tuple[str, ...]  # paths of the notes that the copy lacks
    by_form: Mapping[Form, tuple[int, int]]  # questions taken, and notes that could give one
    warnings: tuple[Message, ...]  # of the vault, and about questions that could not be generated


def generate_queries(
    notes: Path, out: Path, wanted: QueryForms, out_notes: Path | None = None
) -> GeneratedQueries:
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
    generated = queries(read_vault(notes), wanted)
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
    return says_something(note, note.document.body_start, len(note.text))


def queries(vault: Vault, wanted: QueryForms) -> GeneratedQueries:
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
    vocabulary = Vocabulary.of(askable) if drawn or "near-miss" in wanted.forms else None
    offers = _offers(askable, wanted, vocabulary)
    for note in drawn:
        own = [
            replace(draft, form="left-out", evidence=None)
            for draft in drafts(note)
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
    return GeneratedQueries(rows, tuple(empty), len(askable), left_out, by_form, tuple(warnings))


_Offer = dict[Form, list[Draft]]


def _offers(
    notes: Sequence[Note], wanted: QueryForms, vocabulary: Vocabulary | None
) -> list[_Offer]:
    """Return the possible questions of each note by form, shuffled by the seed."""
    all_drafts = [list(drafts(note)) for note in notes]
    counts = Counter(
        name for of_note in all_drafts for name in {key(d.subject) for d in of_note if d.subject}
    )
    least = max(_LEAST_COMMON, len(all_drafts) // 10)
    common = {name for name, count in counts.items() if count >= least}
    offers: list[_Offer] = []
    for note, of_note in zip(notes, all_drafts, strict=True):
        kept = [draft for draft in of_note if key(draft.subject) not in common]
        if vocabulary and "near-miss" in wanted.forms:
            kept += [near for draft in kept for near in near_misses(draft, vocabulary)]
        offer: _Offer = {form: [d for d in kept if d.form == form] for form in wanted.forms}
        for form, of_form in offer.items():
            random.Random(f"{wanted.seed} {form} {note.path}").shuffle(of_form)  # noqa: S311
        offers.append(offer)
    return offers


def _taken(offers: Sequence[_Offer], wanted: QueryForms) -> list[list[Draft]]:
    """Select questions of each note in rounds: the form used least so far, title questions first."""
    order = list(range(len(offers)))
    random.Random(wanted.seed).shuffle(order)  # noqa: S311
    left: list[_Offer] = [{form: [*own] for form, own in offer.items()} for offer in offers]
    taken: list[list[Draft]] = [[] for _offer in offers]
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


def _rows(notes: Sequence[Note], taken: Sequence[Sequence[Draft]]) -> tuple[QueryItem, ...]:
    """Return one row per question; a question that two notes give expects both."""

    def place(draft: Draft) -> tuple[bool, int, int, str]:
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


def _row(id_: str, draft: Draft, note: Note, units: Utf16) -> QueryItem:
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
