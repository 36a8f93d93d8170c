"""The words of the service's page: one file a language, nothing missing, nothing that nobody says."""

import json
import re
from pathlib import Path
from typing import get_args

import gigamind
from gigamind.errors import LlmCode
from gigamind.judges.search_qa.judged import Doubt

PACKAGE = Path(gigamind.__file__).parent
SOURCES = {path.name: path.read_text("utf-8") for path in (PACKAGE / "service/static").iterdir()}
WORDS = {
    language: json.loads((PACKAGE / "locales" / f"{language}.json").read_text("utf-8"))
    for language in ("ko", "en")
}


def keys(language):
    return {f"{table}.{name}" for table, phrases in WORDS[language].items() for name in phrases}


def phrases_of(prefix, codes):
    """The phrase of each code, as the page makes its key."""
    return {prefix + "".join(word.capitalize() for word in code.split("_")) for code in codes}


def made():
    """Keys that the page makes: `page.${word}` of the thumbs, `ai.doubt...`, `ai.why...`, `page.status...`."""
    doubts = [name for part in get_args(Doubt) for name in get_args(part) or (part,)]
    whys = {"off", "not_search", "no_notes", "not_drawn", "daily_budget", "no_answer", "error"}
    return {
        *("page.good", "page.bad", "page.status413", "page.status422", "page.status429"),
        "page.status503",
        *phrases_of("ai.doubt", doubts),
        *phrases_of("ai.why", whys.union(get_args(LlmCode))),
    }


def test_both_languages_have_the_same_phrases_with_the_same_placeholders():
    assert keys("ko") == keys("en")
    for table, phrases in WORDS["ko"].items():
        for name, phrase in phrases.items():
            places = [
                sorted(re.findall(r"{(\w+)}", text)) for text in (phrase, WORDS["en"][table][name])
            ]
            assert places[0] == places[1], name


def test_the_seeds_words_are_the_seeds():
    seed = {
        "qaCorrectness": "정확성",
        "qaUtility": "유용성",
        "qaConfidenceHigh": "높은 신뢰도",
        "qaConfidenceMedium": "보통 신뢰도",
        "qaConfidenceLow": "낮은 신뢰도",
        "qaSourceCoverage": "소스 활용",
        "qaSourceCited": "인용됨",
        "qaSourceNotCited": "미인용",
        "qaGroundingIssues": "근거 이슈",
        "qaNoIssues": "근거 문제 없음",
    }
    assert seed.items() <= WORDS["ko"]["ai"].items()


def test_the_page_says_what_there_is_and_there_is_nothing_else():
    said = {key for text in SOURCES.values() for key in re.findall(r'"((?:ai|page)\.\w+)"', text)}
    assert said | made() == keys("ko")


def test_nothing_of_the_page_is_inline_or_from_elsewhere():
    page = SOURCES["index.html"]
    assert not re.search(r"\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|<style", page)
    for name, text in SOURCES.items():
        assert "innerHTML" not in text, name
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), name
