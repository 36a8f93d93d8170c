"""Read and write TREC test collections: judgements (qrels), topics and rankings, in columns without white space."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gigamind.datasets.schema import QueryItem
from gigamind.i18n import Message, _, n_
from gigamind.interop.collection import Imported, checked_row, label
from gigamind.interop.source import Fields, json_lines, placed_lines
from gigamind.loading import read_text, refuse_problems

_GRADE = re.compile(r"([+-]?\d{1,9})(?:\.0*)?")
_BEFORE = 2
_TOPIC = re.compile(r"<top(?:ic)?\b([^>]*)>(.*?)</top(?:ic)?>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(
    r"""number\s*=\s*["']([^"']+)|<num>\s*(?:Number:)?\s*([^\s<]+)""", re.IGNORECASE
)
_TITLE = re.compile(r"<(?:title|query)>\s*(?:Topic:)?([^<]*)", re.IGNORECASE)
_KEPT = ("language", "difficulty", "tags", "answerable")  # fields of a JSON topic that rows keep
_BREAKS_COLUMNS = re.compile(r"[\s%]")


@dataclass(frozen=True, slots=True)
class Judgements:
    """Grades by query and document as they are read, and problems found on the way."""

    path: Path
    grades: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    places: dict[str, str] = field(default_factory=dict[str, str])
    problems: list[Message] = field(default_factory=list[Message])

    def add(self, place: str, query: str, *documents: str, grade: int = 1) -> None:
        """Add judgements; repeating one is allowed, another grade for the same pair is a problem."""
        own = self.grades.setdefault(query, {})
        self.places.setdefault(query, place)
        for document in documents:
            if own.setdefault(document, grade) != grade:
                problem = _(
                    "{place}: document {document} has grade {grade} for query {query}, but grade {earlier} in an"
                    " earlier line. Keep only one of the two lines.",
                    place=place,
                    query=query,
                    document=document,
                    grade=grade,
                    earlier=own[document],
                )
                self.problems.append(problem)

    def imported(
        self,
        texts: Mapping[str, Fields],
        source: Path | None,
        notes: Mapping[str, str] | None = None,
        warnings: Sequence[Message] = (),
        *,
        run: Mapping[str, object] | None = None,
    ) -> Imported:
        """Return the judged queries with their texts and other fields; queries without a judgement are unanswerable.

        Raises:
            InputError: a row is invalid, or none of the judged queries has a text.
        """
        padded = {name.lstrip("0") or name: fields for name, fields in texts.items()}
        known = {name: texts.get(name, padded.get(name)) for name in self.grades}
        missing = [name for name, fields in known.items() if fields is None]
        if source and len(missing) == len(known):
            problem = _(
                "{file}: the file contains none of the queries in {qrels}, such as {query}. Check that both files"
                " belong to the same collection.",
                file=source,
                qrels=self.path,
                query=missing[0],
            )
            self.problems.append(problem)
        usable: list[QueryItem] = []
        for name, fields in known.items():
            gains = {label(document): gain for document, gain in self.grades[name].items()}
            relevant = tuple(document for document, gain in gains.items() if gain > 0)
            given: Fields = {"query": name, "expected_notes": relevant, "gains": gains or None}
            given |= {**(fields or {}), "id": name, "answerable": bool(relevant)}
            row = checked_row(QueryItem, self.places[name], self.problems, **given)
            usable += [row] if row else []
        refuse_problems(self.problems)
        all_warnings = list(warnings)
        declared = {name for name, fields in texts.items() if fields.get("answerable") is False}
        if unanswerable := sum(not row.answerable and row.id not in declared for row in usable):
            warning = n_(
                "{n} query has no relevant document and is treated as unanswerable. gigamind leaves it out of ranking"
                " metrics; trec_eval counts it as 0",
                "{n:,} queries have no relevant document and are treated as unanswerable. gigamind leaves them out of"
                " ranking metrics; trec_eval counts them as 0",
                n=unanswerable,
            )
            all_warnings.append(warning)
        if source and missing:
            warning = n_(
                "{n} query with relevance judgements has no text: {query}. Its id is used as the text.",
                "{n:,} queries with relevance judgements have no text, such as {query}. Their ids are used as the"
                " text.",
                n=len(missing),
                query=missing[0],
            )
            all_warnings.append(warning)
        if unused := len(texts) - (len(known) - len(missing)):
            warning = n_(
                "{n} query has no relevance judgement and was not imported",
                "{n:,} queries have no relevance judgements and were not imported",
                n=unused,
            )
            all_warnings.append(warning)
        return Imported(usable, notes or {}, tuple(all_warnings), run or {})


def read_trec(qrels: Path, topics: Path | None) -> Imported:
    """Read qrels "query 0 document grade", and topics as TREC's <top>, tab-separated lines or JSON lines {_id, text}.

    Raises:
        InputError: a file cannot be read or used; names the lines.
    """
    judged = Judgements(qrels)
    for place, line in placed_lines(qrels, read_text(qrels, _("the relevance judgements (qrels)"))):
        head = line.split(maxsplit=_BEFORE)
        tail = head[_BEFORE].rsplit(maxsplit=1) if len(head) > _BEFORE else []
        if line.startswith("#") and len(tail) <= 1:
            continue
        if not tail[1:] or not _GRADE.fullmatch(tail[1]):
            problem = _(
                '{place}: expected four columns "query 0 document grade"; the grade must be a whole number',
                place=place,
            )
            judged.problems.append(problem)
        else:
            judged.add(place, head[0], tail[0], grade=grade(tail[1]))
    if not judged.grades and not judged.problems:
        problem = _(
            '{file}: the file contains no relevance judgements. Write "query 0 document grade" on each line.',
            file=qrels,
        )
        judged.problems.append(problem)
    texts = _topics(topics, judged) if topics else {}
    refuse_problems(judged.problems)
    return judged.imported(texts, topics)


def grade(text: str) -> int:
    """Return a grade, which some tools write as 1.0; ValueError if it is not a whole number."""
    match = _GRADE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return int(match[1])


def _topics(path: Path, judged: Judgements) -> dict[str, Fields]:
    text = read_text(path, _("the topics (queries)"))
    read = {"<": _tagged_topics, "{": _json_topics}.get(text.lstrip()[:1], _tabbed_topics)
    topics: dict[str, Fields] = {}
    for place, name, topic, fields in read(path, text):
        if not name or not topic.strip():
            problem = _(
                "{place}: a topic has no id or no text. Write <top> with <num> and <title>, or a line with id,"
                " tab and text.",
                place=place,
            )
            judged.problems.append(problem)
        elif topics.setdefault(name, {"query": topic, **fields})["query"] != topic:
            problem = _(
                "{place}: query {query} occurs again with a different text. Keep only one of the two.",
                place=place,
                query=name,
            )
            judged.problems.append(problem)
        elif fields.get("answerable") is False:
            judged.add(place, name)
    return topics


def _tagged_topics(path: Path, text: str) -> Iterator[tuple[str, str, str, Fields]]:
    for topic in _TOPIC.finditer(text):
        place = f"{path}:{text.count(chr(10), 0, topic.start()) + 1}"
        number, title = _NUMBER.search(topic[0]), _TITLE.search(topic[2])
        name = (number[1] or number[2]) if number else ""
        yield place, name, " ".join(title[1].split()) if title else "", {}


def _json_topics(path: Path, _text: str) -> Iterator[tuple[str, str, str, Fields]]:
    for place, fields in json_lines(path, _("the topics (queries)")):
        name = fields.get("_id", fields.get("id"))
        text = fields.get("text", fields.get("query"))
        own: Fields = {}
        if "answerable" in fields:  # of a run that gigamind exported
            own = {name: fields[name] for name in _KEPT if name in fields}
            own |= {} if fields.get("gains") else {"gains": None}
        yield place, "" if name is None else str(name), text if isinstance(text, str) else "", own


def _tabbed_topics(path: Path, text: str) -> Iterator[tuple[str, str, str, Fields]]:
    for place, line in placed_lines(path, text):
        name, _tab, topic = line.partition("\t")
        yield place, name.strip(), topic.strip(), {}


def trec_run(rankings: Mapping[str, Sequence[str]], tag: str) -> str:
    """Return a run, "query Q0 document rank score tag"; scores count down by rank, as close floats would tie."""
    return "".join(
        f"{column(query)} Q0 {column(note)} {rank} {len(ranking) - rank + 1} {column(tag)}\n"
        for query, ranking in rankings.items()
        for rank, note in enumerate(ranking, start=1)
    )


def trec_qrels(grades: Mapping[str, Mapping[str, int]]) -> str:
    """Return judgements with one line "query 0 document grade" each."""
    return "".join(
        f"{column(query)} 0 {column(note)} {grade}\n"
        for query, own in grades.items()
        for note, grade in own.items()
    )


def column(name: str) -> str:
    """Return a name encoded for one column."""
    return _BREAKS_COLUMNS.sub(lambda match: "".join(f"%{b:02X}" for b in match[0].encode()), name)


def encoded_names(names: Iterable[str]) -> int:
    """Return how many distinct names need encoding."""
    return sum(column(name) != name for name in set(names))
