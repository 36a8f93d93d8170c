import json
import re
from importlib import resources
from typing import get_args

import pytest
from translations import phrases, placeholders

from gigamind.errors import LlmCode
from gigamind.messages import warning_in
from gigamind.metrics.spec import BLOCKS
from gigamind.metrics.table import metrics_of
from gigamind.wording import words
from gigamind.reports.figures import plain_label
from gigamind.reports.page.experiment import value_text
from gigamind.reports.text import embedder_text, notes_text
from gigamind.retrieval.settings import IN_BATCHES
from gigamind.particles import with_particles
from gigamind.wording import change_in, language_of, warning, words


def test_both_languages_have_the_same_phrases_with_the_sameplaceholders():
    english, korean = phrases(words("en")), phrases(words("ko"))
    assert english.keys() == korean.keys()
    differing = [key for key in english if placeholders(english[key]) != placeholders(korean[key])]
    assert not differing


def test_korean_phrases_are_korean_but_for_the_fields_own_names():
    not_korean = {
        key for key, phrase in phrases(words("ko")).items() if not re.search("[가-힣]", phrase)
    }
    assert not_korean == {
        "headline.not_judged",
        "headline.change",
        "page.n",
        "page.count",
        "page.version",
        "figure.setting_threshold",
        "figure.setting_answer_score",
        "experiment.differences",
        "history.of",
        "model.usd",
        "compare.alone",
        "model.priced",
        "summary.and",
        "summary.headline",
        "summary.over",
    }


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("code", get_args(LlmCode))
def test_every_reason_for_a_missing_verdict_has_words(lang, code):
    assert words(lang).knows(f"panel_script.code_{code}")


def test_words_of_a_script_are_those_of_the_last_table_that_has_them():
    told = words("en").script("answer_script", "panel_script")
    assert told["shown"] == "{from}–{to} of {count} answers"
    assert (told["previous"], told["seat"]) == (words("en")("script.previous"), "seat")
    assert words("en").script()["shown"] == "{from}–{to} of {count} queries"


@pytest.mark.parametrize("key", words("en").tables["warning"])
def test_a_warning_is_told_in_the_language_of_the_page_with_its_own_values(key):
    english, korean = (words(lang).tables["warning"][key] for lang in ("en", "ko"))
    values = {name: f"<{name} 1.5>" for name in placeholders(english)}
    told = warning(key, **values)
    assert told == english.format(**values)
    assert warning_in("ko", told) == with_particles(korean.format(**values))
    assert warning_in("en", told) == told


def test_a_warning_that_is_not_translated_is_told_as_it_is():
    assert warning_in("ko", "a.md: is odd") == "a.md: is odd"
    told = 'a.jsonl:1: field "labels.claims": no claim of the answer reads "Roses."; the label is not used'
    assert warning_in("en", told) == told
    assert warning_in("ko", told) == (
        'a.jsonl:1: 필드 "labels.claims": 답변에 "Roses."라는 주장이 없어 이 라벨은 쓰지 않습니다'
    )


OF_ONE_MEANING = {
    "관문": "게이트 is a gate",
    "문턱": "임계값 is a threshold",
    "지연": "응답 시간 is latency",
    "향상|나아": "개선 is what got better",
    "기준(?! 실행)": "기준 실행 is a baseline, 임계값 a threshold",
    "(?<!신뢰)구간": "신뢰구간 is an interval, 구절 a span",
}


@pytest.mark.parametrize(("banned", "instead"), OF_ONE_MEANING.items(), ids=list(OF_ONE_MEANING))
def test_a_korean_term_means_one_thing_everywhere(banned, instead):
    told = [*phrases(words("ko")).values(), *phrases(words("ko")).values()]
    texts = [text for metric in metrics_of(*BLOCKS) for text in (metric.label, metric.about)]
    told += [text.ko for text in texts if text]
    service = json.loads((resources.files("gigamind") / "locales/ko.json").read_text("utf-8"))
    told += [phrase for table in service.values() for phrase in table.values()]
    assert not [phrase for phrase in told if re.search(banned, phrase)], instead


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "en_US.UTF-8"}, "en"),
        ({"LANG": "ko_KR.UTF-8", "LC_MESSAGES": "de_DE.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "", "LC_MESSAGES": "ko"}, "ko"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_auto_is_the_language_of_the_first_variable_of_the_environment_that_is_set(
    environment, language, monkeypatch
):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert language_of("auto") == language
    assert (language_of("ko"), language_of("en")) == ("ko", "en")


@pytest.mark.each(
    "change, korean",
    [
        ("correctness 1.00 -> 0.00; no longer supported: 휴가 15일",
         "정확성 1.00 → 0.00; 더는 뒷받침되지 않음: 휴가 15일"),
        ("completeness 0.50 -> 1.00; utility 0.20 -> 0.90", "완전성 0.50 → 1.00; 유용성 0.20 → 0.90"),
        ("checklist passed -> not passed: no longer polite, brief; now cited",
         "체크리스트 통과 → 미통과: 더는 아님 polite, brief; 이제 맞음 cited"),
        ("checklist: now cited", "체크리스트: 이제 맞음 cited"),
        ("tone 0.20 -> 0.10", "tone 0.20 -> 0.10"),  # of a team's own judge
    ],
)  # fmt: skip
def test_what_changed_of_an_answer_is_told_in_korean(change, korean):
    assert change_in("ko", change) == korean
    assert change_in("en", change) == change


def test_a_run_is_told_in_words_with_no_english_left(make_record):
    run = make_record(()).run
    name = {"embedding_model": f"use-multilingual@0.2.1{IN_BATCHES}"}
    batched = run.model_copy(update={"environment": run.environment.model_copy(update=name)})
    assert embedder_text(batched, words("ko")) == "use-multilingual@0.2.1"
    assert notes_text(run, words("ko")) == f"{run.notes} (내용 해시 {run.notes_hash[:12]})"
    assert [value_text(value, words("ko")) for value in ("none", "builtin", "e5@1.0")] == [
        "없음", "내장", "e5@1.0",
    ]  # fmt: skip


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("task", ["links", "answers"])
def test_summary_md_says_what_each_metric_of_its_table_is_by_the_name_it_has_there(task, lang):
    say = words(lang)
    defined = " ".join(say(f"{task}_summary.definitions").split())
    own = {"answered"}  # of comparisons only
    metrics = [metric for metric in metrics_of(task) if metric.name not in own]
    labels = [plain_label(metric.key, say).replace("{k}", "k") for metric in metrics]
    no_bounds = [label for label in labels if not label.endswith(("ceiling", "상한"))]
    assert len(no_bounds) >= 6
    assert [label for label in no_bounds if label not in defined] == []
