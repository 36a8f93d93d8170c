"""Makes a dataset of queries from a vault without a model: by forms (see `question_forms.py`), with near misses.

Which questions are taken hangs on the vault and the seed alone: in rounds, one a note, of the form taken least so far.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gigamind.choices import FORMS, Form
from gigamind.datasets.near_misses import Vocabulary, near_misses
from gigamind.datasets.question_forms import Draft, drafts, says_something
from gigamind.datasets.sample import sample
from gigamind.datasets.schema import GENERATED, ExpectedSpan, QueryItem
from gigamind.datasets.write import (
    copy_vault,
    refuse_existing_file,
    refuse_places,
    write_rows,
)
from gigamind.errors import InputError
from gigamind.spans import Utf16
from gigamind.vault.identity import key
from gigamind.vault.language import note_language
from gigamind.vault.notes import Note, Vault, read_vault

_LEAST_COMMON = 5  # notes
# What a note must hold for each form, for those whose vault has none.
_MADE_OF: Mapping[Form, str] = {
    "title": "a title",
    "heading": "a heading of level 1 to 3 with text below it that few notes share",
    "list": "a list item that explains a term, such as “- **term**: what it means”",
    "table": "a table whose rows begin with a name",
    "sentence": "a paragraph whose first sentence begins with what it is about",
    "near-miss": "a year, a version or a name, in what is asked about, to change",
    "left-out": "a name that stands in no other note",
}
_ORDER: tuple[Form, ...] = (*FORMS, "left-out")
_UNANSWERABLE: frozenset[Form] = frozenset({"near-miss", "left-out"})


@dataclass(frozen=True, slots=True)
class QueryForms:
    """What is asked for.

    Attributes:
        per_note: answerable questions a note at most, from 1 on.
        unanswerable_per_note: near misses a note at most, where that form is among `forms`, and questions about a
            note that is left out.
        leave_out: share of the notes that the copy lacks, in [0, 1): what only they name has no answer there.
        limit: questions in all; None for as many as there are.
    """

    forms: tuple[Form, ...] = ("title",)
    per_note: int = 3
    unanswerable_per_note: int = 1
    leave_out: float = 0.0
    limit: int | None = None
    seed: int = 42


@dataclass(frozen=True, slots=True)
class GeneratedQueries:
    """What was generated.

    Attributes:
        empty_notes: notes without text, about which nothing can be asked, in path order.
        notes: how many notes have text.
        left_out: paths of the notes that the copy lacks.
        by_form: form -> questions taken, and the notes that could give one.
        warnings: of the vault, and on what could not be made.
    """

    rows: tuple[QueryItem, ...]
    empty_notes: tuple[str, ...]
    notes: int
    left_out: tuple[str, ...]
    by_form: Mapping[Form, tuple[int, int]]
    warnings: tuple[str, ...]


def generate_queries(
    notes: Path, out: Path, wanted: QueryForms, out_notes: Path | None = None
) -> GeneratedQueries:
    """Write a dataset of questions about a vault.  Equal vaults and seeds give equal bytes.

    Args:
        out_notes: folder for the copy without the notes that are left out, where some are.

    Raises:
        InputError: a place cannot be, no note has text, or none gives a question of these forms.
        NotesError: the vault cannot be read or copied.
        EvaluationError: the dataset cannot be written.
    """
    if (out_notes is None) != (wanted.leave_out == 0.0):
        raise InputError(
            "--leave-out and --out-notes: go together, for the questions are about the copy without those notes"
        )
    if out_notes is None:
        refuse_query_place(notes, out)
    else:
        refuse_places(notes, out_notes, out, option="--out")
    made = queries(read_vault(notes), wanted)
    if not made.rows:
        raise InputError("\n".join([f"{notes}: gives no question", *made.warnings]))
    if out_notes is not None:
        with copy_vault(notes, out_notes, {}, made.left_out):
            pass  # nothing in it is changed
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
    return says_something(note, note.document.body_start, len(note.text))


def queries(vault: Vault, wanted: QueryForms) -> GeneratedQueries:
    """The rows of a vault, in its order.

    Raises:
        InputError: no note has text, or the numbers cannot be.
    """
    for option, number in (("--max-per-note", wanted.per_note), ("--limit", wanted.limit)):
        if number is not None and number < 1:
            raise InputError(f"{option} {number}: must be 1 or more")
    if not 0.0 <= wanted.leave_out < 1.0:
        raise InputError(f"--leave-out {wanted.leave_out:g}: must be 0 or more, and less than 1")
    askable, empty = askable_notes(vault)
    drawn = sample(askable, float(wanted.leave_out), wanted.seed) if wanted.leave_out else ()
    gone = {note.path for note in drawn}
    askable = [note for note in askable if note.path not in gone]
    if not askable:
        raise InputError(f"--leave-out {wanted.leave_out:g}: leaves no note with text")
    vocabulary = Vocabulary.of(askable) if drawn or "near-miss" in wanted.forms else None
    offers = _offers(askable, wanted, vocabulary)
    if vocabulary:
        offers += [_of_left_out(note, vocabulary, wanted.seed) for note in drawn]
    taken = _taken(offers, wanted)
    askable += drawn
    counts = Counter(draft.form for of_note in taken for draft in of_note)
    by_form: dict[Form, tuple[int, int]] = {
        form: (counts[form], sum(bool(offer.get(form)) for offer in offers))
        for form in _ORDER
        if form in wanted.forms or (form == "left-out" and drawn)
    }
    rows = _rows(askable, taken)
    warnings = [*vault.warnings, *_shortfalls(by_form, len(askable))]
    if wanted.limit is not None and len(rows) < wanted.limit:
        shortfall = f"--limit {wanted.limit}: only {len(rows)} questions could be made"
        warnings.append(f"{shortfall}; more --forms, notes or --max-per-note give more")
    left_out = tuple(note.path for note in drawn)
    return GeneratedQueries(rows, tuple(empty), len(askable), left_out, by_form, tuple(warnings))


_Offer = dict[Form, list[Draft]]


def _of_left_out(note: Note, kept: Vocabulary, seed: int) -> _Offer:
    """What is asked about a note that is left out: of what no other note names."""
    own = [
        replace(draft, form="left-out", evidence=None)
        for draft in drafts(note)
        if not kept.knows(draft.subject or draft.title)
    ]
    random.Random(f"{seed} left-out {note.path}").shuffle(own)  # noqa: S311
    return {"left-out": own}


def _offers(
    notes: Sequence[Note], wanted: QueryForms, vocabulary: Vocabulary | None
) -> list[_Offer]:
    """What each note could give, by form, drawn by the seed."""
    made = [list(drafts(note)) for note in notes]
    common = _common(made)
    offers: list[_Offer] = []
    for note, of_note in zip(notes, made, strict=True):
        kept = [draft for draft in of_note if key(draft.subject) not in common]
        if vocabulary and "near-miss" in wanted.forms:
            kept += [near for draft in kept for near in near_misses(draft, vocabulary)]
        offer: _Offer = {form: [d for d in kept if d.form == form] for form in wanted.forms}
        for form, of_form in offer.items():
            random.Random(f"{wanted.seed} {form} {note.path}").shuffle(of_form)  # noqa: S311
        offers.append(offer)
    return offers


def _common(made: Sequence[Sequence[Draft]]) -> frozenset[str]:
    """Keys of what so many notes speak of that it says nothing of one: See also, Description, 결정 사항."""
    counts = Counter(
        name for of_note in made for name in {key(d.subject) for d in of_note if d.subject}
    )
    least = max(_LEAST_COMMON, len(made) // 10)
    return frozenset(name for name, count in counts.items() if count >= least)


def _taken(offers: Sequence[_Offer], wanted: QueryForms) -> list[list[Draft]]:
    """Those of each note, in rounds: the form that was taken least, the title's before the others."""
    order = list(range(len(offers)))
    random.Random(wanted.seed).shuffle(order)  # noqa: S311
    left: list[_Offer] = [
        {form: list(of_form) for form, of_form in offer.items()} for offer in offers
    ]
    taken: list[list[Draft]] = [[] for _ in offers]
    used: Counter[Form] = Counter()
    asked: set[str] = set()
    before = -1
    while before < len(asked):
        before = len(asked)
        for note in order:
            if len(asked) == wanted.limit:
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
                used[form] += draft.question not in asked
                asked.add(draft.question)
    return taken


def _rows(notes: Sequence[Note], taken: Sequence[Sequence[Draft]]) -> tuple[QueryItem, ...]:
    """A row a question; one that two notes give expects both."""
    rows: dict[str, QueryItem] = {}
    for note, of_note in zip(notes, taken, strict=True):
        units = Utf16(note.text)
        for draft in sorted(of_note, key=_place):
            row = _row(f"g-{len(rows) + 1:04}", draft, note, units)
            known = rows.get(row.query)
            rows[row.query] = row if known is None else both(known, row)
    return tuple(rows.values())


def both(known: QueryItem, row: QueryItem) -> QueryItem:
    """One row of two with the same question: it expects what each of them expects."""
    return known.model_copy(
        update={
            "expected_notes": tuple(dict.fromkeys((*known.expected_notes, *row.expected_notes))),
            "expected_spans": tuple(dict.fromkeys((*known.expected_spans, *row.expected_spans))),
        }
    )


def _place(draft: Draft) -> tuple[bool, int, int, str]:
    """The title's first, then by the place in the note, near misses last."""
    start = draft.evidence.start if draft.evidence else -1
    return draft.form in _UNANSWERABLE, start, _ORDER.index(draft.form), draft.question


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


def _shortfalls(by_form: Mapping[Form, tuple[int, int]], notes: int) -> Iterable[str]:
    """What could not be made, for want of what."""
    for form, (_, able) in by_form.items():
        if not able:
            yield f"no question of the form {form}: none of {notes} notes has {_MADE_OF[form]}"
