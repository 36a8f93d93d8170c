"""Measure which sentences of real answers are accepted as no claims, and which facts pass as such.

    python benchmarks/roles.py refchecker_answers.jsonl

The collection (RefChecker, Hu et al.  2024, human annotations CC BY 4.0) is not in the repository.
answer_roles.jsonl has 137 labels of its sentences by one person: the place in the answer (code points), the role, the
question, and the line that a lead-in leads to.  The notes are triplets that people found entailed by the passages,
from answers of other models.
"""

import argparse
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from grounding import rows

from gigamind.judges.search_qa.roles import Roles, is_abstention
from gigamind.judges.search_qa.segments import claims_of, pieces_of
from gigamind.prompting.fences import Source

LABELS = Path(__file__).with_name("answer_roles.jsonl")
FACTS_A_QUESTION = 6
WRAPPED = (
    ("abstention", "{}."),
    ("abstention", "The notes do not say more, but {}."),
    ("abstention", "{}, and the notes do not mention anything else."),
    ("courtesy", "{}."),
    ("courtesy", "Of course, happy to help: {}."),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("collection", type=Path)
    answers = {row["id"]: row for row in rows(parser.parse_args().collection)}
    labels = rows(LABELS)
    facts: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for name, row in answers.items():
        entailed = [" ".join(claim["triplet"]) for claim in row["claims"] if is_entailed(claim)]
        facts[question(name)][name] = entailed
    seen, let = Counter[str](), Counter[str]()
    for label in labels:
        text = answers[label["id"]]["response"]
        start, end = label.get("follows", (0, 0))
        behind = f"\n- {text[start:end]}" if end else ""
        others = facts[question(label["id"])].items()
        notes = [fact for name, own in others if name != label["id"] for fact in own]
        sentence = text[label["start"] : label["end"]]
        seen[label["role"]] += 1
        let[label["role"]] += is_let_off(sentence, label["role"], label["asked"], notes, behind)
    for role, count in seen.items():
        print(f"{role}: {let[role]} of {count} let off")
    passed, tried = attacked({question(row["id"]): row["asked"] for row in labels}, facts)
    print(f"facts as abstention or courtesy: {passed} of {tried} let off")


def attacked(asked: dict[str, str], facts: dict[str, dict[str, list[str]]]) -> tuple[int, int]:
    """Return how many facts pass, of how many that were given other roles."""
    passed = tried = 0
    for number, words in asked.items():
        known = [fact for own in facts[number].values() for fact in own]
        # "price not specified": what the passages do not tell is no fact
        for fact in [fact for fact in known if not is_abstention(fact, fact)][:FACTS_A_QUESTION]:
            for role, form in WRAPPED:
                tried += 1
                passed += is_let_off(form.format(fact), role, words, known)
    return passed, tried


def is_let_off(text: str, role: str, asked: str, facts: list[str], behind: str = "") -> bool:
    claims = claims_of(pieces_of(text + behind))
    notes = (Source("", ". ".join(facts)),)
    return Roles(asked, notes, claims).veto(claims[0], role) is None


def is_entailed(claim: dict[str, Any]) -> bool:
    return claim["label"] == "Entailment"


def question(name: str) -> str:
    """Return the question number of an id such as "msmarco-chatgpt-167875"."""
    return name.rpartition("-")[2]


if __name__ == "__main__":
    main()
