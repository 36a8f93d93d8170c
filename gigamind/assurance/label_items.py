"""What people can label in a run: tasks (a claim, an answer, a hit, a link), grouped by the unit that is drawn."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Literal

from gigamind.spans import Span
from gigamind.text import sentences, tokens

Decided = tuple[str, str]
"""Key and content of a task: what a label belongs to."""
_TaskKind = Literal["claim", "answer", "abstention", "question", "hit", "link"]
CHOICES: Mapping[_TaskKind, Mapping[str, Mapping[str, float]]] = {
    "claim": {
        "supported": {"supported": 1.0},
        "contradicted": {"supported": 0.0},
        "not_found": {"supported": 0.0},
    },
    "answer": {"yes": {"utility": 1.0}, "partly": {"utility": 0.5}, "no": {"utility": 0.0}},
    "abstention": {"right": {}, "wrong": {}},
    "question": {"answerable": {"unanswerable": 0.0}, "unanswerable": {"unanswerable": 1.0}},
    "hit": {"relevant": {"gain": 2}, "partly": {"gain": 1}, "irrelevant": {"gain": 0}},
    "link": {"accept": {"accepted": 1.0}, "reject": {"accepted": 0.0}},
}
"""Kind -> choice -> value by scale.  The order of the choices is that of the keys 1, 2, 3."""


@dataclass(frozen=True, slots=True)
class LabelSource:
    """A note that a task is decided with."""

    title: str
    path: str | None
    text: str


@dataclass(frozen=True, slots=True)
class LabelTask:
    """One decision of a person.

    Attributes:
        id: Of the item in the run; with `note`, the id of the query and the path of the hit.
        text: The claim, answer, question, passage or link text to decide on.
        verdict: The judge's choice; None if it gave none.
        doubt: How likely the verdict is wrong, in [0, 1], as far as the judge shows.
    """

    id: str
    kind: _TaskKind
    text: str
    sources: tuple[LabelSource, ...]
    verdict: str | None
    doubt: float = 0.0
    note: str | None = None
    start: int | None = None  # of a claim in the answer, UTF-16
    end: int | None = None

    @property
    def key(self) -> str:
        return f"{self.id}@{self.note}" if self.note else self.id


@dataclass(frozen=True)
class LabelUnit:
    """An answer with its claims, a query with its hits, or a link: what is drawn as a whole.

    Attributes:
        value: Mean of the judge's verdicts in [0, 1], which the labels correct; None if it gave none.
        verdict: Number of its stratum by verdict; neighbours in number are merged first.
    """

    id: str
    language: str
    question: str
    answer: str
    tasks: tuple[LabelTask, ...]
    value: float | None
    verdict: int

    @cached_property
    def contents(self) -> Mapping[str, str]:
        """The digest of everything that a label depends on by task key, 16 hexadecimal digits."""
        return {task.key: self._content(task) for task in self.tasks}

    def _content(self, task: LabelTask) -> str:
        parts = [self.question, self.answer, task.kind, task.text, task.note]
        parts += [source.text for source in task.sources]
        written = json.dumps(parts, ensure_ascii=False)
        return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def doubt(self) -> float:
        return max((task.doubt for task in self.tasks), default=0.0)

    @property
    def stratum(self) -> tuple[str, int, float]:
        return self.language, self.verdict, self.doubt

    def choices(self, by_content: Mapping[Decided, str]) -> dict[str, str]:
        """Return the choice of each task that has one, by the task's key."""
        own = {key: by_content.get((key, content)) for key, content in self.contents.items()}
        return {key: choice for key, choice in own.items() if choice is not None}

    def labelled_value(self, choices: Mapping[str, str]) -> float | None:
        """Return the mean label of the tasks that `value` is about, in [0, 1]; None unless all have a choice."""
        main = [task for task in self.tasks if task.kind in {"claim", "question", "link"}]
        if not main or any(task.key not in choices for task in main):
            return None
        return fmean(
            value for task in main for value in CHOICES[task.kind][choices[task.key]].values()
        )


def passage(text: str, sources: Sequence[LabelSource]) -> tuple[int, Span] | None:
    """Return the source and the sentence with the most words of `text`, which says nothing about the verdict."""
    wanted = set(tokens(text))
    best: tuple[float, int, Span] | None = None
    for number, source in enumerate(sources):
        for span in sentences(source.text):
            own = set(tokens(source.text[span.start : span.end]))
            shared = len(wanted & own) / (len(wanted) + 0.1 * len(own) or 1.0)
            if shared and (best is None or shared > best[0]):
                best = shared, number, span
    return best and (best[1], best[2])
