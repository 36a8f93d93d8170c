import re
from string import Formatter
from typing import get_args

import pytest

from gigamind.errors import LlmCode
from gigamind.reports.markdown import label
from gigamind.reports.page.wording import words


def _phrases(lang):
    return {
        f"{table}.{key}": phrase
        for table, phrases in words(lang).tables.items()
        for key, phrase in phrases.items()
    }


def _placeholders(phrase):
    return {name for _, name, _, _ in Formatter().parse(phrase) if name}


def test_both_languages_have_the_same_phrases_with_the_same_placeholders():
    english, korean = _phrases("en"), _phrases("ko")
    assert english.keys() == korean.keys()
    differing = [
        key for key in english if _placeholders(english[key]) != _placeholders(korean[key])
    ]
    assert not differing


def test_korean_phrases_are_korean_but_for_the_fields_own_names():
    not_korean = {key for key, phrase in _phrases("ko").items() if not re.search("[가-힣]", phrase)}
    assert {key for key in not_korean if not key.startswith("metric.")} == {
        "headline.not_judged",
        "headline.change",
        "page.n",
        "page.count",
        "page.version",
        "figure.setting_threshold",
        "model.usd",
        "script.base",
        "script.final",
    }


@pytest.mark.parametrize(
    "name", ["hit_at_1", "mrr", "ndcg_at_10", "recall_at_5", "span_recall", "f1", "far"]
)
def test_a_metric_is_called_as_in_the_markdown_summary(name):
    assert words("en").metric(name) == label(name)


def test_a_latency_is_called_by_its_percentile():
    assert words("ko").metric("latency_p95_ms") == "지연 p95"


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("code", get_args(LlmCode))
def test_every_reason_for_a_missing_verdict_has_words(lang, code):
    assert words(lang).knows(f"panel_script.code_{code}")


def test_words_of_a_script_are_those_of_the_last_table_that_has_them():
    told = words("en").script("answer_script", "panel_script")
    assert told["shown"] == "{from}–{to} of {count} answers"
    assert (told["previous"], told["seat"]) == (words("en")("script.previous"), "seat")
    assert words("en").script()["shown"] == "{from}–{to} of {count} queries"
