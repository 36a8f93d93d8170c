"""Notes that are changed, deleted or renamed while a run lasts: its figures stand, and it says so."""

import json

import pytest
from able_model import able

from gigamind.tasks import evaluate
from gigamind.tasks.answers.options import AnswerEvalOptions
from gigamind.tasks.links.options import LinkEvalOptions
from gigamind.tasks.search.options import SearchEvalOptions

NAMES = ("changed", "deleted", "kept", "renamed")


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.md").write_text(f"Target of {name}: it is deployed.", encoding="utf-8")
    return folder


@pytest.fixture
def dataset(tmp_path):
    def write(**row):
        (tmp_path / "data.jsonl").write_text(
            json.dumps({"id": "a", **row}) + "\n", encoding="utf-8"
        )
        return tmp_path / "data.jsonl"

    return write


def disturb(vault):
    """What a person does who goes on working."""
    if (vault / "deleted.md").exists():
        (vault / "changed.md").write_text("Another text.", encoding="utf-8")
        (vault / "deleted.md").unlink()
        (vault / "renamed.md").rename(vault / "new name.md")
        (vault / "picture.png").write_bytes(b"no note")


CHANGED = ["changed.md", "deleted.md", "new name.md", "renamed.md"]


def warnings(out):
    """The values of the warnings that name notes."""
    messages = json.loads((out / "run.json").read_text("utf-8"))["warning_messages"]
    return [message["values"] for message in messages if "notes" in message.get("values", {})]


def model_that_disturbs(server, vault):
    def respond(body):
        disturb(vault)
        return able(body)

    server.respond = respond
    return {
        "model": "openai/judge",
        "api_base": server.url,
        "max_in_flight": 1,
        "model_timeout_s": 60,
        "store_mode": "off",
    }


def test_a_search_that_a_model_judges_says_which_notes_changed(vault, dataset, server, tmp_path):
    rows = dataset(query="what is kept", answerable=True, expected_notes=["kept.md"])
    asked = model_that_disturbs(server, vault)
    given = {"dataset": rows, "notes": vault, "mode": "keyword", "unanswerable_mode": "llm"}
    options = SearchEvalOptions.model_validate(given | asked | {"out": tmp_path / "out"})
    evaluate(options)
    assert warnings(tmp_path / "out") == [{"n": 4, "notes": CHANGED}]
    assert "changed.md, deleted.md" in (tmp_path / "out" / "summary.md").read_text("utf-8")
    # Undisturbed, a run says nothing of it.
    evaluate(options.model_copy(update={"out": tmp_path / "again"}))
    assert warnings(tmp_path / "again") == []


def test_an_evaluation_of_answers_says_so_too(vault, dataset, server, tmp_path):
    notes = [{"title": "Kept", "text": "It is deployed."}]
    rows = dataset(question="Is it deployed?", answer="It is.", language="en", context_notes=notes)
    asked = model_that_disturbs(server, vault)
    given = {"dataset": rows, "notes": vault, "out": tmp_path / "out", "allow_partial": True}
    evaluate(AnswerEvalOptions.model_validate(given | asked))
    assert warnings(tmp_path / "out") == [{"n": 4, "notes": CHANGED}]


def test_an_evaluation_of_links_says_so_too(vault, dataset, tmp_path):
    class Disturbing:
        def stage(self, *_):
            disturb(vault)

        def tell(self, _line):
            pass

        def trouble(self, _text):
            pass

        def at_most(self, _left):
            pass

    rows = dataset(
        source_note="kept.md",
        anchor="Target",
        anchor_range={"start": 0, "end": 6},
        expected_links=["changed.md"],
    )
    options = LinkEvalOptions.model_validate(
        {"dataset": rows, "notes": vault, "out": tmp_path / "out"}
    )
    evaluate(options, Disturbing())
    assert warnings(tmp_path / "out") == [{"n": 4, "notes": CHANGED}]
