"""A language is a catalogue and its prompts; whatever it lacks is English."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from called import call
from compile_catalogues import compile_catalogues
from fake_model import reply_to
from row_files import write_rows
from second_looks import is_second_look, looks
from vault_files import write_files

HERE = Path(__file__)
ABSTENTION = "La notoj ne diras tion."
PO = f"""
msgid ""
msgstr "Content-Type: text/plain; charset=utf-8"

#. script
msgid "Send"
msgstr "Sendi"

msgid "I could not find anything about this in the notes."
msgstr "{ABSTENTION}"
"""
LEAVE = "연차는 입사 첫해에 15일을 준다."
ROW = {
    "id": "a", "question": "How much leave?", "answer": "New hires get fifteen days.", "language": "eo",
    "context_notes": [{"title": "휴가", "text": LEAVE}],
}  # fmt: skip


def test_two_messages_and_some_prompts_are_enough_for_a_language(tmp_path):
    for folder in ("gigamind", "judges", "prompts", "systems"):
        shutil.copytree(HERE.parents[2] / folder, tmp_path / folder)
    locales = write_files(tmp_path / "gigamind/locales", {"eo/LC_MESSAGES/gigamind.po": PO})
    (locales / "xx/LC_MESSAGES").mkdir(parents=True)  # as `git clean` leaves it
    compile_catalogues(locales)
    for english in tmp_path.glob("prompts/search_*/v*/en.jinja"):
        shutil.copy(english, english.with_stem("eo"))
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path), str(HERE.parent)])
    code = f"import {HERE.stem}; {HERE.stem}.use_esperanto()"
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)


def use_esperanto():
    """Judge an answer, and ask the service; runs in the copy."""
    from conftest import answering, starting

    write_rows(Path("answers.jsonl"), [ROW])
    with answering() as model, starting(model, Path()) as start:
        model.respond = respond
        asked = ("--judge-lang", "eo", "--model", "openai/m", "--api-base", model.url)
        judged = ("eval", "answers", "--dataset", "answers.jsonl", "--out", "run", "--lang", "eo")
        assert call(*judged, *asked).code == 0
        assert "openai/m (eo)" in Path("run/summary.md").read_text("utf-8")
        assert "eo.jinja" in call("judge", "test", "unanswerable_llm", *asked).stderr

        service = start()
        first, *others, last = service.get("/locales")[1]
        assert (first, "eo" in others, "xx" in others, last) == ("ko", True, False, "en")
        assert service.get("/locales/eo.json")[1]["Send"] == "Sendi"
        for question, feature in (("Xyzzy?", "search_qa"), ("Where are the roses?", "insight")):
            (_, told), *found = service.stream(question, feature=feature, options={"lang": "eo"})
            assert told["lang"] == "eo"
            assert (found[0][1]["chunk"] == ABSTENTION) == (feature == "search_qa")
            assert dict(found)["quality"]["items"][0]["text"].startswith("Does it ")


def respond(body):
    """A model that finds words of another language in the note, which needs a second look."""
    text = str(body["messages"][-1]["content"])
    if is_second_look(text):
        return looks(text, passage=LEAVE)
    claim = {"id": 1, "verdict": "supported", "note": 1, "quote": LEAVE}
    return reply_to(body) | ({"claims": [claim]} if ROW["answer"] in text else {})
