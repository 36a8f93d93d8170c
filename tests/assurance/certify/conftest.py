"""Folders of judged runs, labels of people, and the cards that they give."""

import pytest
from judged_folders import write_judged_run, write_lines

from gigamind.assurance.certify import certify
from gigamind.tasks import judged_kinds

JUDGE = {
    "kind": "llm",
    "file": "judges/unanswerable_llm.toml",
    "fingerprint": "f" * 64,
    "model": "openai/gpt-x",
    "languages": ["ko", "en"],
}
NOW = "2026-11-22T01:00:00+00:00"


def item(name, *, answerable, judged, language="ko", confidence=0.9, reported=None):
    judgement = {
        "outcome": "unscored" if judged is None else "scored",
        "told_unanswerable": judged if reported is None else reported,
        "confidence": confidence,
        "quotes": [{"text": f"quote of {name}", "note": "a.md", "found": "exact", "trusted": True}],
    }
    return {
        "id": name,
        "query": f"query {name}",
        "language": language,
        "answerable": answerable,
        "judged_unanswerable": judged,
        "judgement": judgement,
    }


# Of five unanswerable items four are judged so, of five answerable ones one is.
ITEMS = [
    *(item(f"u{n}", answerable=False, judged=n != 0, language="en") for n in range(5)),
    *(item(f"a{n}", answerable=True, judged=n == 0) for n in range(5)),
]


@pytest.fixture
def run_folder(tmp_path):
    def write(name="run", items=ITEMS, task="search", judge=JUDGE, errors=(), **changes):
        about = {"run_id": name, "task": task, "judge": judge} | changes
        return write_judged_run(tmp_path / name, items, errors=errors, **about)

    return write


@pytest.fixture
def labels_file(tmp_path):
    def write(rows):
        path = tmp_path / "labels.jsonl"
        write_lines(path, rows)
        return path

    return write


def answer(name, correctness, utility=0.5, *, judged=True, labels=None, claims=()):
    evaluation = {"correctness": correctness, "utility": utility, "claims": claims}
    about = {"id": name, "question": f"q {name}", "language": "ko", "labels": labels}
    return about | {"evaluation": evaluation if judged else None}


def claim(number, verdict, quote=""):
    return {"id": number, "text": f"claim {number}", "verdict": verdict} | {
        "evidence": {"quote": quote} if quote else None
    }


SUPPORT = {"supported": "supported", "unverified": "not_found"}


def claims_of(name, verdicts, labels):
    given = [
        {"text": f"claim {n}", "verdict": SUPPORT[label], "claim": n}
        for n, label in enumerate(labels, start=1)
        if label
    ]
    claims = [claim(n, verdict) for n, verdict in enumerate(verdicts, start=1)]
    return answer(name, 0.5, labels={"claims": given}, claims=claims)


@pytest.fixture(name="item")
def _item():
    """A judged query, as a line of per_item.jsonl."""
    return item


@pytest.fixture
def ten_items():
    """The queries of a run for which none are given."""
    return ITEMS


@pytest.fixture
def judge():
    return JUDGE


@pytest.fixture
def now():
    """When the cards of `card_of` are made."""
    return NOW


@pytest.fixture
def card_of():
    def make(*folders, labels=None, **options):
        return certify(folders, judged_kinds(), labels, created_at=NOW, **options)

    return make


@pytest.fixture
def values():
    """The value of each figure of a group."""
    return lambda group: {name: figure.value for name, figure in group.figures.items()}


@pytest.fixture(name="answer")
def _answer():
    """A judged answer, as a line of per_item.jsonl."""
    return answer


@pytest.fixture(name="claim")
def _claim():
    return claim


@pytest.fixture(name="claims_of")
def _claims_of():
    """An answer whose claims have the verdicts; a label of None is none."""
    return claims_of


@pytest.fixture
def answers_with_claims():
    """Four answers, labelled, and two without labels, whose claims are all alike."""

    def make(copies):
        yes, no = ["supported"] * copies, ["unverified"] * copies
        labelled = [("v", yes, yes), ("w", yes, no), ("x", no, no), ("y", yes, yes)]
        return [claims_of(*one) for one in labelled] + [claims_of(n, yes, []) for n in ("p", "q")]

    return make
