import re

import pytest
from babel.messages import pofile
from search_records import make_record

from gigamind.i18n import LOCALES, language_of, translator
from gigamind.metrics.spec import BLOCKS
from gigamind.metrics.table import about, metrics_of
from gigamind.reports.experiment import value_text
from gigamind.reports.run import _run_rows
from gigamind.retrieval.settings import IN_BATCHES

OF_ONE_MEANING = {
    "관문": "게이트 is a gate", "문턱": "임계값 is a threshold", "지연": "응답 시간 is latency",
    "향상|나아": "개선 is what got better", "낱말": "단어 is a word",
    "(?<!신뢰)구간": "신뢰구간 is an interval, 구절 a span",
}  # fmt: skip


@pytest.fixture(scope="module")
def korean():
    """All Korean texts."""
    with (LOCALES / "ko" / "LC_MESSAGES" / "gigamind.po").open(encoding="utf-8") as file:
        return [str(message.string) for message in pofile.read_po(file, "ko")]


@pytest.mark.parametrize(("banned", "instead"), OF_ONE_MEANING.items(), ids=list(OF_ONE_MEANING))
def test_a_korean_term_means_one_thing_everywhere(korean, banned, instead):
    assert not [text for text in korean if re.search(banned, text)], instead


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "ko_KR.UTF-8"}, "ko"), ({"LANG": "en_US.UTF-8"}, "en"),
        ({"LANG": "ko_KR.UTF-8", "LC_MESSAGES": "de_DE.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "", "LC_MESSAGES": "ko"}, "ko"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C.UTF-8"}, "en"), ({}, "en"),
    ],
)  # fmt: skip
def test_auto_is_the_language_of_the_first_variable_of_the_environment_that_is_set(
    environment, language, monkeypatch
):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert language_of("auto") == language
    assert (language_of("ko"), language_of("en")) == ("ko", "en")


def test_a_run_is_told_in_words_with_no_english_left():
    run = make_record(()).run
    name = {"embedding_model": f"use-multilingual@0.2.1{IN_BATCHES}"}
    batched = run.model_copy(update={"environment": run.environment.model_copy(update=name)})
    rows = dict(_run_rows(batched))
    assert rows["embedding model"] == "use-multilingual@0.2.1"
    shown = [translator("ko")(value_text(value)) for value in ("none", "builtin", "e5@1.0")]
    assert shown == ["없음", "내장", "e5@1.0"]


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_all_metrics_that_pages_show_have_an_explanation(lang):
    shown = [x.key for x in metrics_of(*BLOCKS) if not x.key.endswith(("_ceiling", "_ms"))]
    assert len(shown) > 30
    assert [key for key in shown if not about(key, lang)] == []
