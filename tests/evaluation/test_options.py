from pathlib import Path

import pytest

from gigamind.errors import InputError
from gigamind.evaluation.options import validated
from gigamind.redaction import without_secrets
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.tasks.options import AnswerEvalOptions, SearchEvalOptions

GIVEN: dict[str, object] = {"dataset": "q.jsonl", "notes": "vault"}


@pytest.mark.each(
    "name, allowed, refused",
    [
        ("topk", 1, 0),
        ("topk", 1000, 1001),
        ("min_score", -12.5, float("nan")),
        ("alpha", 0, -0.01),
        ("alpha", 1, 1.01),
        ("seed", 0, -1),
        ("warmup", 0, -1),
        ("timeout_ms", 1, 0),
        ("timeout_ms", 86_400_000, 86_400_001),
        ("max_concurrency", 1, 0),
        ("max_concurrency", 256, 257),
        ("mode", "keyword", "fuzzy"),
        ("sample", "1", "0"),
        ("sample", "1.0", "1.01"),
    ],
)
def test_a_value_out_of_range_is_named(name, allowed, refused):
    assert getattr(validated(SearchEvalOptions, {**GIVEN, name: allowed}), name) == allowed
    with pytest.raises(InputError) as refusal:
        validated(SearchEvalOptions, {**GIVEN, name: refused})
    assert str(refusal.value).startswith(f"--{name.replace('_', '-')} {refused}: ")
    assert refusal.value.exit_code == 1


def test_an_option_that_there_is_not_is_named():
    with pytest.raises(InputError, match=r"^--foo: "):
        validated(SearchEvalOptions, {**GIVEN, "foo": 1})


def test_all_problems_are_told_at_once_a_line_each():
    with pytest.raises(InputError) as refusal:
        validated(SearchEvalOptions, {"notes": "vault", "topk": 0, "warmup": -1})
    options = [line.split()[0] for line in str(refusal.value).splitlines()]
    assert options == ["--dataset", "--warmup", "--topk"]


def test_retrieval_is_told_its_part(tmp_path):
    told = {
        "mode": "semantic",
        "alpha": 0.4,
        "title_weight": 0.2,
        "chunk_chars": 400,
        "topk": 3,
        "graph_rerank": True,
        "cold_start": True,
        "embedder": "fastembed:x",
        "embedding_api_base": "http://a",
        "qdrant_url": "http://b",
    }
    options = validated(SearchEvalOptions, {**GIVEN, **told, "cache_dir": tmp_path})
    assert options.retrieval == RetrievalSettings(**told, cache=tmp_path)


def test_the_cache_folder_is_the_environments_without_an_option(tmp_path, monkeypatch):
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "chosen"))
    assert validated(SearchEvalOptions, GIVEN).retrieval.cache == tmp_path / "chosen"


def test_options_survive_json():
    options = validated(
        SearchEvalOptions, {**GIVEN, "sample": "0.5", "notes_hash_exclude": ("a", "b")}
    )
    assert SearchEvalOptions.model_validate_json(options.model_dump_json()) == options


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://h/v1", "https://h/v1"), ("https://user:secret@h/v1", "https://***@h/v1"),
        ("https://secret@h:6333", "https://***@h:6333"),
        ("https://user:p@ss@h/v1", "https://***@h/v1"), ("https://h/v1?key=secret&x=1", "https://h/v1?***"),
        ("https://h/a@b", "https://h/a@b"),
    ],
)  # fmt: skip
def test_an_address_is_shown_without_what_opens_the_door(address, shown):
    assert without_secrets(address) == shown
    for name in ("api_base", "embedding_api_base", "qdrant_url"):
        options = validated(SearchEvalOptions, {**GIVEN, name: address})
        assert options.for_report()[name] == shown
        assert getattr(options, name) == address


def test_what_workers_are_told_holds_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ours.toml").write_text("", encoding="utf-8")
    given = {"dataset": "q.jsonl", "system": "run:a.run", "system_config": "ours.toml"}
    placed = validated(SearchEvalOptions, given).in_any_folder()
    assert (placed.dataset, placed.notes) == (tmp_path / "q.jsonl", None)
    assert placed.system == f"run:{tmp_path / 'a.run'}"
    assert placed.system_config == str(tmp_path / "ours.toml")
    named = validated(SearchEvalOptions, {**given, "system": "http://h", "system_config": "plain"})
    assert named.in_any_folder().system == "http://h"
    assert named.in_any_folder().system_config == "plain"


@pytest.mark.parametrize(
    ("judge", "placed"),
    [
        ("words", "words"),
        ("team.judges:Own", "team.judges:Own"),
        ("ours.toml", "{folder}/ours.toml"),
        ("nli:tiny", "nli:{folder}/tiny"),
        ("nli:owner/name", "nli:owner/name"),
    ],
)
def test_workers_find_the_judge_by_its_name_or_place(tmp_path, monkeypatch, judge, placed):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ours.toml").write_text("", encoding="utf-8")
    (tmp_path / "tiny").mkdir()
    options = validated(AnswerEvalOptions, {"dataset": "a.jsonl", "judge": judge})
    monkeypatch.chdir("/")
    assert str(options.in_any_folder().judge) == judge  # not a place here
    monkeypatch.chdir(tmp_path)
    assert str(options.in_any_folder().judge) == placed.format(folder=tmp_path)


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"sample": "10"}, "--sample"),
        ({"fresh_fraction": 0.5}, "--fresh-fraction"),
        ({"store_mode": "refresh"}, "--store-mode"),
        ({"store_mode": "off"}, "--store-mode"),
    ],
)
def test_a_deterministic_run_draws_nothing_and_asks_nothing_twice(given, option):
    with pytest.raises(InputError, match=f"--deterministic.*{option}"):
        validated(SearchEvalOptions, GIVEN | {"deterministic": True} | given)


def test_a_deterministic_run_asks_at_temperature_0_whatever_a_judge_file_says():
    for deterministic, temperature in ((False, 0.1), (True, 0.0)):
        given = GIVEN | {"deterministic": deterministic, "model": "openai/m"}
        settings = validated(SearchEvalOptions, given).settings().spoken(0.1, 768)
        assert (settings.temperature, settings.seed, settings.max_tokens) == (temperature, 42, 768)


def test_run_json_has_the_language_that_auto_chose(monkeypatch):
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    options = validated(SearchEvalOptions, GIVEN)
    assert (options.lang, options.for_report()["lang"]) == ("auto", "ko")
    assert validated(SearchEvalOptions, {**GIVEN, "lang": "en"}).for_report()["lang"] == "en"


@pytest.mark.parametrize("named", ["runs/a", "runs/a.unfinished"])
def test_a_run_is_resumed_by_its_folder_or_by_the_one_it_keeps_until_it_is_finished(named):
    options = SearchEvalOptions(dataset=Path("q.jsonl"), resume=Path(named))
    assert options.written_to(None) == Path("runs/a")
