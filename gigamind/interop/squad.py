"""Import SQuAD 1.1, 2.0 and similar files such as KorQuAD 1.0: paragraphs become notes, questions queries."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from gigamind.datasets.schema import ExpectedSpan, QueryItem
from gigamind.i18n import Message, _
from gigamind.interop.collection import Imported, checked_row, note_path, note_text
from gigamind.interop.source import Fields, json_whole
from gigamind.loading import refuse_problems
from gigamind.spans import Span, Utf16


@dataclass(slots=True)
class _Reader:
    path: Path
    rows: list[QueryItem] = field(default_factory=list[QueryItem])
    notes: dict[str, str] = field(default_factory=dict[str, str])
    by_context: dict[str, str] = field(default_factory=dict[str, str])
    places: dict[str, str] = field(default_factory=dict[str, str])
    problems: list[Message] = field(default_factory=list[Message])
    lost: list[str] = field(default_factory=list[str])

    def paragraph(self, place: str, title: str, number: int, paragraph: Fields) -> None:
        context = paragraph.get("context")
        if not isinstance(context, str) or not context.strip():
            problem = _(
                '{place}: the paragraph has no "context". Check that the file is in SQuAD format.',
                place=place,
            )
            self.problems.append(problem)
            return
        name = f"{title} {number:03d}".strip()
        note, start = self.by_context.get(context), 0
        if note is None:
            first = note = note_path(name)
            number = 2
            while note in self.notes:
                note = f"{first.removesuffix('.md')} ({number}).md"
                number += 1
            self.notes[note], start = note_text(name, title, context)
            self.by_context[context] = note
        start = self.notes[note].index(context, start)
        for at, question in enumerate(_objects(paragraph.get("qas")), start=1):
            self.question(f"{place}, question {at}", note, context, start, question)

    def question(self, place: str, note: str, context: str, start: int, question: Fields) -> None:
        name = str(question.get("id", ""))
        if name in self.places:
            problem = _(
                "{place}: the question id {id} is already used by {other}. Keep only one of the two.",
                place=place,
                id=name,
                other=self.places[name],
            )
            self.problems.append(problem)
            return
        self.places[name] = place
        answers = list(_objects(question.get("answers")))
        answerable = not question.get("is_impossible") and bool(answers)
        spans = [
            self._span(place, note, context, start, answer) for answer in answers if answerable
        ]
        row = checked_row(
            QueryItem,
            place,
            self.problems,
            id=name,
            query=question.get("question"),
            answerable=answerable,
            expected_notes=(note,) if answerable else (),
            expected_spans=tuple(dict.fromkeys(span for span in spans if span)),
        )
        if row:
            self.rows.append(row)

    def _span(
        self, place: str, note: str, context: str, start: int, answer: Fields
    ) -> ExpectedSpan | None:
        text, at = answer.get("text"), answer.get("answer_start")
        if not isinstance(text, str) or not text or not isinstance(at, int):
            self.problems.append(
                _('{place}: an answer without "text" or "answer_start"', place=place)
            )
            return None
        places = [offset for offset in range(len(context)) if context.startswith(text, offset)]
        if not places:
            self.lost.append(place)
            return None
        at = min(places, key=lambda offset, stated=at: abs(offset - stated))
        span = Span(start + at, start + at + len(text))
        first, end = Utf16(self.notes[note]).span_from_code_points(span)
        return ExpectedSpan(note_path=note, start=first, end=end, text=text)


def read_squad(path: Path) -> Imported:
    """Import questions with the spans of their answers, and paragraphs as notes; impossible questions are unanswerable.

    Raises:
        InputError: the file cannot be read or used; names article, paragraph and question.
    """
    whole = json_whole(path, _("the questions"))
    data = cast("Fields", whole).get("data") if isinstance(whole, dict) else None
    reader = _Reader(path)
    for number, article in enumerate(_objects(data), start=1):
        title = str(article.get("title") or f"article {number}")
        for at, paragraph in enumerate(_objects(article.get("paragraphs")), start=1):
            reader.paragraph(f"{path}: article {number}, paragraph {at}", title, at, paragraph)
    if not reader.rows and not reader.problems:
        problem = _(
            '{file}: no questions. The format of SQuAD is {{"data": [{{"title", "paragraphs": [...]}}]}}.',
            file=path,
        )
        reader.problems.append(problem)
    refuse_problems(reader.problems)
    warnings = [
        _(
            "{place}: the paragraph does not contain the answer, so no expected span was imported for it",
            place=place,
        )
        for place in reader.lost
    ]
    return Imported(reader.rows, reader.notes, tuple(warnings))


def _objects(value: object) -> Iterator[Fields]:
    for part in cast("list[object]", value) if isinstance(value, list) else ():
        if isinstance(part, dict):
            yield cast("Fields", part)
