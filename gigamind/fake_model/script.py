"""Plays a model by keywords: quotes the sentence of the notes that shares most words with a question, or abstains.

It understands nothing and needs no model. Answers cite the notes of the prompt; verdicts quote them. Requests that it
does not know get a reply that fits their schema.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gigamind.evidence.clause import is_question
from gigamind.fake_model.by_schema import Json, made_by, schema_of
from gigamind.judges.search_qa.abstention import denies_knowledge
from gigamind.judges.search_qa.passage import HEADING, is_row
from gigamind.judges.search_qa.reading import Reading
from gigamind.judges.search_qa.segments.citations import without_note_names
from gigamind.judges.search_qa.words import ASKED_FOR
from gigamind.tasks.answers.answering import NO_NOTES
from gigamind.text import sentences, unwrapped

# Share of a question's words, by rarity, that an answer needs. Of the questions in examples/queries.jsonl (ko and en),
# 20% of the 158 answerable ones are answered, 94% of them with the right sentence, and 18% of the 44 unanswerable ones.
# At 0.5 these are 29%, 87% and 45%; at 0.7 17%, 96% and 14%.
_ENOUGH = 0.65
_SUPPORTED = 0.8  # share of a claim's words that its quote needs
_NOTE = re.compile(
    r'<note-(\w+) index="(\d+)" title=("(?:[^"\\]|\\.)*")>\n(.*?)\n</note-\1>', re.DOTALL
)
_FRONT_MATTER = re.compile(r"---\n.*?\n---(?:\n|$)", re.DOTALL)
_INPUT = re.compile(
    r"^[^\n\"]*?\): (\"(?:[^\"\\]|\\.)*\"|\[\{.*\}\])$", re.MULTILINE
)  # Question (a JSON string): "..."
_CITATION = re.compile(r"\[(?:노트|Note) \d+\]")
_MARKER = re.compile(r"^[\s>]*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:\[[ xX]\]\s+)?")
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")


@dataclass(frozen=True)
class _Line:
    """A sentence or table row of a note, and the headings above it."""

    note: int
    quote: str  # as in the note
    above: str  # title, heading, question, table header

    @cached_property
    def words(self) -> AbstractSet[str]:
        return Reading(self.quote).content

    @cached_property
    def words_above(self) -> AbstractSet[str]:
        return Reading(self.above).content - self.words

    @property
    def sentence(self) -> str:
        """The line as a sentence of an answer, without its full stop."""
        text = _LINK.sub(r"\1", " ".join(self.quote.split()))
        if is_row(text):
            text = ", ".join(cell.strip() for cell in text.strip("| ").split("|"))
        return text.strip(" .*_")


def _lines(number: int, title: str, note: str) -> Iterator[_Line]:
    front = _FRONT_MATTER.match(note)
    text = unwrapped(note)
    heading = asked = header = ""
    end = front.end() if front else 0
    for span in sentences(text):
        if span.start < end:
            continue
        if "\n" in text[end : span.start]:
            asked = ""
        end, line = span.end, span.slice(text)
        if not is_row(line):
            header = ""
        if HEADING.fullmatch(line):
            heading = line
        elif is_question(line):
            asked = line
        elif is_row(line) and not header:
            header = line
        elif any(map(str.isalnum, line)):
            yield _Line(
                number, _MARKER.sub("", span.slice(note)), f"{title} {heading} {asked} {header}"
            )


class _Prompt:
    """What a request of the product contains."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        self.system, *rest = (str(message.get("content")) for message in messages)
        self.user = "\n".join(rest) or self.system
        self.notes = [
            (int(number), json.loads(title), text)
            for _, number, title, text in _NOTE.findall(self.user)
        ]
        self.lines = [line for note in self.notes for line in _lines(*note)]
        inputs: list[Any] = [json.loads(text) for text in _INPUT.findall(_NOTE.sub("", self.user))]
        texts: list[str] = [value for value in inputs if isinstance(value, str)]
        self.question, self.answer = (texts[0], texts[-1]) if texts else ("", "")
        lists: list[list[Json]] = [value for value in inputs if isinstance(value, list)]
        self.rows = lists[0] if lists else []

    @property
    def language(self) -> str:
        return "ko" if re.search("[가-힣]", self.system) else "en"

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The question's words by rarity in the notes, with the sum 1; an unknown one is as rare as the mean."""
        words = Reading(self.question).content
        words = words - ASKED_FOR or words
        seen = Counter(word for line in self.lines for word in line.words | line.words_above)
        idf = {
            word: math.log(1 + (len(self.lines) - seen[word] + 0.5) / (seen[word] + 0.5))
            for word in words
            if seen[word]
        }
        unknown = len(words) - len(idf)
        total = sum(idf.values()) * (1 + unknown / len(idf)) if idf else 0.0
        return {word: weight / total for word, weight in idf.items()}

    def share(self, words: AbstractSet[str]) -> float:
        """Return the share of the question's words that a text has, in [0, 1]."""
        return sum(weight for word, weight in self.weights.items() if word in words)

    @cached_property
    def best(self) -> _Line | None:
        """The sentence in the question's language that answers it; None if none does."""
        korean = Reading(self.question).is_korean
        ranked = [
            (self.share(line.words | line.words_above), -line.note, own, line)
            for line in self.lines
            if (own := self.share(line.words)) and Reading(line.quote).is_korean == korean
        ]
        worth, *_rest, line = max(ranked, key=lambda row: row[:3], default=(0.0, 0, 0.0, None))
        return line if worth >= _ENOUGH else None

    def quote_of(self, claim: str) -> _Line | None:
        """Return the line that has nearly all words of a claim; None if no line has them."""
        words = Reading(without_note_names(claim)).content
        best = max(self.lines, key=lambda line: len(words & line.words), default=None)
        enough = best and words and len(words & best.words) >= _SUPPORTED * len(words)
        return best if enough else None


def _answer(prompt: _Prompt) -> str:
    name = "노트" if prompt.language == "ko" else "Note"
    best = prompt.best
    return f"{best.sentence} [{name} {best.note}]." if best else NO_NOTES[prompt.language]


def _answerability(prompt: _Prompt) -> Json:
    best = prompt.best
    return {
        "answered": best is not None,
        "answer": _answer(prompt) if best else "",
        "sources": [{"note": best.note, "quote": best.quote}] if best else [],
        "confidence": "medium",
    }


def _judgement(prompt: _Prompt) -> Json:
    best, rows = prompt.best, [row for row in prompt.rows if "id" in row]
    quotes = [prompt.quote_of(row["text"]) for row in rows]
    cited = {line.note: line for line in quotes if line}
    answer = Reading(" ".join(row["text"] for row in rows)).content
    return {
        "claims": [_claim(row, line) for row, line in zip(rows, quotes, strict=True)],
        "source_coverage": [
            {
                "note_index": number,
                "relevant": number in cited or (best is not None and best.note == number),
                "cited": number in cited,
                "relevant_claim": cited[number].sentence if number in cited else "",
                "quote": cited[number].quote if number in cited else "",
            }
            for number, _title, _text in prompt.notes
        ],
        "grounding_issues": [],
        "omissions": [{"what": best.sentence[:300], "note": best.note, "quote": best.quote}]
        if best and best not in quotes
        else [],
        "answerable": best is not None,
        "answer_note": best.note if best else None,
        "answer_quote": best.quote if best else "",
        "utility_reason": "",
        "utility": round(4 * prompt.share(answer)) / 4,
        "correctness": sum(map(bool, quotes)) / (len(rows) or 1),
        "summary": "",
    }


def _claim(row: Json, line: _Line | None) -> Json:
    abstains = denies_knowledge(row["text"])
    return {
        "id": row["id"],
        "role": "abstention" if abstains else "claim",
        "abstention_quote": row["text"] if abstains else "",
        "verdict": "supported" if line else "not_found",
        "note": line.note if line else None,
        "quote": line.quote if line else "",
    }


def _checks(prompt: _Prompt) -> Json:
    first = next((span.slice(prompt.answer) for span in sentences(prompt.answer)), "")
    line, citation = prompt.quote_of(first), _CITATION.search(prompt.answer)
    quotes = {"notes": line.quote if line else "", "answer": without_note_names(first)}
    quotes["either"] = quotes["notes"] or quotes["answer"]
    items: list[Json] = []
    for item in map(json.loads, re.findall(r'^\{"id": .*\}$', prompt.system, re.MULTILINE)):
        quote = quotes[item["quote_from"]]
        if item["id"] == "sources":
            quote = citation[0] if citation else ""
        items.append({"id": item["id"], "yes": bool(quote), "quote": quote})
    return {"items": items}


def _second_looks(prompt: _Prompt) -> Json:
    looks: list[Json] = []
    for row in prompt.rows:
        reading, known = Reading(row["statement"]), Reading(f"{row['heading']}\n{row['text']}")
        pairs = zip(reading.words, reading.keys, strict=True)
        missing = reading.content - known.content
        unsaid = next((word.whole for word, key in pairs if key in missing), "")
        looks.append({"id": row["id"], "unsaid": unsaid, "said": not unsaid})
    return {"looks": looks}


def _parts(prompt: _Prompt) -> Json:
    return {"sentences": [{"id": row["id"], "parts": [row["text"]]} for row in prompt.rows]}


# By a field of the reply.
_REPLIES: Mapping[str, Callable[[_Prompt], Json]] = {
    "claims": _judgement,
    "answered": _answerability,
    "items": _checks,
    "looks": _second_looks,
    "sentences": _parts,
}


def reply_to(body: Json) -> Json:
    """Return the reply to a request; text without a schema is in the field "text"."""
    schema = schema_of(body)
    if schema is None:
        return {"text": _answer(_Prompt(body["messages"]))}
    fields: Mapping[str, Any] = schema.get("properties", {})
    write = next((_REPLIES[name] for name in fields if name in _REPLIES), None)
    if write:
        reply = write(_Prompt(body["messages"]))
        return {name: reply[name] for name in fields if name in reply}
    if list(fields) == ["answer"]:
        return {"answer": _answer(_Prompt(body["messages"]))}
    return made_by(schema)
