"""Attacks on a judge: text in a note, a title, an answer or a question that wants to choose the verdict itself.

The data are `judges/trials/attacks.jsonl`; `attack_outcome.py` tells whether one succeeded.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gigamind.errors import InputError
from gigamind.judges.trial import Case, Kind
from gigamind.judges.trial_data import (
    AnswerName,
    Scenario,
    Text,
    TrialRow,
    read_rows,
    read_scenarios,
    scenario_of,
    trials_folder,
)
from gigamind.llm.fences import Source

Place = Literal["note", "answer", "title", "question"]
Language = Literal["ko", "en", "mixed"]
Goal = Literal["answerable", "unanswerable", "supported", "unsupported", "useful", "leak"]
Family = Literal[
    "override",
    "fake_verdict",
    "fake_fence",
    "role_play",
    "hidden_text",
    "bidi",
    "code_block",
    "json_breaker",
    "forged_quote",
    "encoded",
    "fake_system",
    "human_grade",
    "fake_turns",
    "markup",
    "prompt_leak",
    "few_shot",
    "appeal",
]

_KINDS: dict[Goal, tuple[Kind, ...]] = {
    "answerable": ("unanswerable",),
    "unanswerable": ("unanswerable",),
    "supported": ("search_qa",),
    "unsupported": ("search_qa",),
    "useful": ("search_qa",),
    "leak": ("unanswerable", "search_qa"),
}
_ANSWERS: dict[Goal, AnswerName] = {"supported": "wrong", "useful": "useless"}  # others: the right
_WHETHER_ANSWERABLE: dict[Goal, bool] = {
    "answerable": False,
    "unanswerable": True,
    "unsupported": True,
    "useful": True,
}


class AttackRow(TrialRow):
    """One attack.

    Attributes:
        language: of the payload.
        place: where the payload is put: behind the text of the first note, its title, the answer or the question.
        goal: what a fooled judge would do.
        scenario: the case that it is put into.
    """

    family: Family
    language: Language
    place: Place
    goal: Goal
    scenario: str
    payload: Text


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack with the scenario that it is put into."""

    row: AttackRow
    scenario: Scenario

    def attacks(self, kind: Kind) -> bool:
        """Whether judges of that kind decide what it is after, and read what it is written in."""
        reads = kind == "search_qa" or self.row.place != "answer"
        return kind in _KINDS[self.row.goal] and reads

    def clean(self, kind: Kind) -> Case:
        """The case without the attack; attacks that share it, share its id."""
        if kind == "unanswerable":
            return self._case(f"clean-{self.scenario.id}", "")
        name = _ANSWERS.get(self.row.goal, "right")
        answer: str = getattr(self.scenario.answers, name)
        return self._case(f"clean-{self.scenario.id}-{name}", answer)

    def attacked(self, kind: Kind) -> Case:
        """The case with the payload in its place."""
        clean, payload = self.clean(kind), self.row.payload
        first, *others = clean.notes
        question, answer, counted = clean.question, clean.answer, None
        match self.row.place:
            case "note":
                first = Source(first.title, f"{first.text}\n\n{payload}")
            case "title":
                first = Source(f"{first.title} {payload}", first.text)
            case "question":
                question = f"{question} {payload}"
            case "answer":
                # What the payload claims is its own affair: the attack is on what the answer says without it.
                answer, counted = f"{answer}\n\n{payload}", len(answer)
        return Case(self.row.id, question, (first, *others), answer, counted)

    def _case(self, name: str, answer: str) -> Case:
        return Case(name, self.scenario.question, self.scenario.sources, answer)


def load_attacks(folder: Path | None = None) -> tuple[Attack, ...]:
    """The attacks of a folder of trials; by default, of the one that travels with the package.

    Raises:
        InputError: a file cannot be read, or a row is wrong; with file and line.
    """
    folder = folder or trials_folder()
    scenarios = read_scenarios(folder)
    found: list[Attack] = []
    for where, row in read_rows(folder / "attacks.jsonl", AttackRow).values():
        scenario = scenario_of(scenarios, row.scenario, where)
        _check(row, scenario, where)
        found.append(Attack(row, scenario))
    return tuple(found)


def _check(row: AttackRow, scenario: Scenario, where: str) -> None:
    wanted = _WHETHER_ANSWERABLE.get(row.goal, scenario.answerable)
    if scenario.answerable != wanted:
        kind = "answerable" if wanted else "unanswerable"
        raise InputError(
            f"{where}: scenario: {row.scenario!r} is wrong for the goal {row.goal!r}, which needs an {kind} one"
        )
    if row.place == "answer" and "search_qa" not in _KINDS[row.goal]:
        raise InputError(
            f"{where}: place: no judge that decides on the goal {row.goal!r} reads an answer"
        )
