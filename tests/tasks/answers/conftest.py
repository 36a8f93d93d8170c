"""Five answers over a vault of five notes, and what a judge says of them over real HTTP."""

from types import SimpleNamespace

import pytest
from answer_reply import answer_reply, aside
from out_files import items_of
from row_files import write_rows
from vault_files import write_files

from gigamind.evaluation.options import validated
from gigamind.tasks.options import AnswerEvalOptions

MODEL = "openai/judge"
LEAVE = "연차는 입사 첫해에 15일을 준다."
NOTES = {
    "휴가.md": f"---\ntitle: 휴가 규정\n---\n{LEAVE}\n\n반차는 0.5일로 계산한다.\n",
    "garden.md": "The garden has roses and tulips near the gate.\n",
    # BM25 finds nothing in two notes: a word that stands in half of them weighs nothing.
    "parking.md": "Cars stand behind the depot.\n",
    "배포.md": "배포는 금요일에 시작한다.\n",
    "invoices.md": "Invoices are paid on Mondays.\n",
}


def item(item_id, answer, **changes):
    given = {
        "id": item_id,
        "question": "연차는 며칠?",
        "answer": answer,
        "language": "ko",
        "context_notes": [{"path": "휴가.md"}, {"path": "garden.md"}],
    }
    return given | changes


ITEMS = [
    item(
        "good",
        "연차는 15일이다 [노트 1].",
        labels={
            "correctness": 1.0,
            "utility": 1.0,
            "abstains": False,
            "claims": [{"text": "연차는 15일이다 [노트 1].", "verdict": "supported", "note": 1}],
        },
        tags=["plain"],
    ),
    item(
        "mixed",
        "연차는 15일이다. 장미는 없다.",
        labels={
            "claims": [
                {"text": "장미는 없다.", "verdict": "contradicted"},
                {"text": "없는 말이다.", "verdict": "not_found"},
            ]
        },
    ),
    item("forged", "연차는 20일이다."),
    item("silent", "노트에는 관련 정보가 없습니다.", labels={"abstains": True, "utility": 0.0}),
    item("alone", "연차는 15일이다.", context_notes=[]),
]


def found(number, verdict, note=None, quote=""):
    return {"id": number, "verdict": verdict, "note": note, "quote": quote}


def reply(*claims, **changes):
    return answer_reply(claims, LEAVE, **changes)


GOOD = reply(found(1, "supported", 1, LEAVE))
MIXED = reply(
    found(1, "supported", 1, LEAVE),
    found(2, "contradicted", 2, "The garden has roses"),
    utility=0.75,
)
FORGED = reply(found(1, "supported", 1, "연차는 입사 첫해에 20일을 준다."), utility=0.5)
SILENT = reply(aside("abstention", "관련 정보가 없습니다"), utility=0.9)


@pytest.fixture
def vault(tmp_path):
    return write_files(tmp_path / "vault", NOTES)


@pytest.fixture
def options(tmp_path, vault, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    prices = tmp_path / "prices.toml"
    prices.write_text(
        f'[models."{MODEL}"]\nprompt = 1\ncompletion = 2\n[models."openai/writer"]\nprompt = 3\ncompletion = 4\n'
    )
    number = 0

    def make(items=ITEMS, **changes):
        nonlocal number
        number += 1
        dataset = write_rows(tmp_path / f"answers-{len(items)}.jsonl", items)
        given = {
            "dataset": dataset,
            "notes": vault,
            "out": tmp_path / f"out-{number}",
            "model": MODEL,
            "api_base": server.url,
            "min_coverage": 0.0,
            "prices": prices,
            "max_in_flight": 1,
            "model_timeout_s": 60,  # both given: no speed is measured
            "cache_dir": tmp_path / "cache",
            "format": "both",
        }
        return validated(AnswerEvalOptions, given | changes)

    return make


def checks(*items, **quotes):
    names = items or ("direct", "grounded", "sources", "uncertainty")
    given = [(name, quotes.get(name, "")) for name in names]
    return {"items": [{"id": name, "yes": bool(q), "quote": q} for name, q in given]}


@pytest.fixture(name="item")
def _item():
    """A line of the dataset, by its id and answer."""
    return item


@pytest.fixture
def answers():
    """The five lines that `options` takes where no others are given."""
    return ITEMS


@pytest.fixture
def model():
    return MODEL


@pytest.fixture
def leave():
    """The sentence of the note on leave."""
    return LEAVE


@pytest.fixture(name="found")
def _found():
    """What a judge says of one claim."""
    return found


@pytest.fixture(name="reply")
def _reply():
    """What a judge says of an answer with these claims."""
    return reply


@pytest.fixture(name="checks")
def _checks():
    """A checklist's reply: a yes with its quote for each item named, a no for the others."""
    return checks


@pytest.fixture
def replies():
    """What a judge says of "good", "mixed", "forged" and "silent", and a checklist of the first two."""
    return SimpleNamespace(
        good=GOOD,
        mixed=MIXED,
        forged=FORGED,
        silent=SILENT,
        every=[GOOD, MIXED, FORGED, SILENT],
        passing=checks(direct="연차는 15일이다", grounded=LEAVE, sources="[노트 1]"),
        failing=checks(direct="연차는 15일이다", grounded="연차는 없다고 한다."),
    )


@pytest.fixture
def by_id():
    """The rows of per_item.jsonl by their id."""
    return items_of
