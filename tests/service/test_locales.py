"""The messages of the service's page: a sentence for each code, nothing inline, nothing from elsewhere."""

import json
import re
from pathlib import Path
from typing import get_args

import gigamind
from gigamind.errors import LlmCode
from gigamind.judges.search_qa.judgement import _Notice
from gigamind.judges.search_qa.verify import Doubt

PACKAGE = Path(gigamind.__file__).parent
SOURCES = {path.name: path.read_text("utf-8") for path in (PACKAGE / "service/static").iterdir()}
WORDS = {
    path.stem: json.loads(path.read_text("utf-8")) for path in (PACKAGE / "locales").glob("*.json")
}


def codes_of(name):
    """The codes of a table of the page's script."""
    table = re.search(
        rf"const {name} = {{(.*?)^}};", SOURCES["evaluation.js"], re.DOTALL | re.MULTILINE
    )
    return set(re.findall(r"^  (\w+): ", table[1], re.MULTILINE))


def test_both_languages_have_the_same_phrases_with_the_same_placeholders():
    places = [
        {name: sorted(re.findall(r"{(\w+)}", text)) for name, text in words["ai"].items()}
        for words in WORDS.values()
    ]
    assert places == places[:1] * len(WORDS)


def test_the_page_has_a_sentence_for_each_code_of_the_service():
    whys = {"off", "not_search", "no_notes", "not_drawn", "daily_budget", "no_answer", "error"}
    assert codes_of("REASONS") == whys.union(get_args(LlmCode))


def test_the_service_sends_the_messages_and_labels_of_each_language(service):
    doubts = {name for part in get_args(Doubt) for name in get_args(part) or (part,)}
    labels = doubts.union(f"notice_{name}" for name in get_args(_Notice))
    status, languages = service.get("/locales")
    assert (status, set(languages)) == (200, set(WORDS))
    for language in languages:
        status, table = service.get(f"/locales/{language}.json")
        assert status == 200
        assert "Send" in table or language != "ko"
        assert {f"label {name}" for name in labels} <= table.keys()


def test_nothing_of_the_page_is_inline_or_from_elsewhere():
    page = SOURCES["index.html"]
    assert not re.search(r"\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|<style", page)
    for name, text in SOURCES.items():
        assert "innerHTML" not in text, name
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), name
