import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gigamind.judges.unanswerable import load_calibrated_judge

ENGLISH = "apple banana cherry damson elder fig grape hazel iris juniper kiwi lemon"
KOREAN = "사과 포도 딸기 수박 참외 자두 살구 앵두 매실 대추 호두 은행"
WORDS = [*ENGLISH.split(), *KOREAN.split()]


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Writes a vault of so many notes, half of them Korean, and a question to each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))

    def write(count: int) -> None:
        Path("vault").mkdir()
        rows = []
        for word in WORDS[:count]:
            Path(f"vault/{word}.md").write_text(f"The note tells of {word} trees.\n", "utf-8")
            query = {"id": word, "query": f"{word} trees", "answerable": True}
            rows.append(query | {"expected_notes": [f"{word}.md"], "language": "ko"})
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        Path("q.jsonl").write_text("\n".join(lines) + "\n", "utf-8")

    return write


GIVEN = ("judge", "fit", "unanswerable", "--dataset", "q.jsonl", "--notes", "vault")


def test_a_fit_writes_a_judge_and_prints_how_reliable_it_is(
    collection: Callable[[int], None], gigamind: Callable[..., Any]
):
    collection(24)
    ended = gigamind(*GIVEN, "--mode", "keyword", "--out", "mine.toml")
    assert (ended.code, ended.stderr) == (0, "")
    printed = dict(line.rsplit(maxsplit=1) for line in ended.stdout.splitlines())
    assert [printed[name] for name in ("queries", "unanswerable", "auc")] == ["48", "24", "1.000"]
    judge = load_calibrated_judge(Path("mine.toml"), None)
    assert judge.file.cosine is None
    source = judge.file.fitted_on[0]
    assert (source.dataset, source.answerable, source.languages) == ("q.jsonl", 24, ("ko",))


def test_with_vectors_it_fits_both_sets(
    collection: Callable[[int], None], gigamind: Callable[..., Any]
):
    collection(24)
    ended = gigamind(*GIVEN, "--out", "mine.toml")
    assert ended.code == 0
    assert "cosine" in ended.stdout
    judge = load_calibrated_judge(Path("mine.toml"), None)
    assert judge.file.cosine is not None
    assert judge.file.embedder is not None
    assert judge.file.embedder.startswith("use-multilingual@")


def test_several_collections_are_fitted_on_together(
    collection: Callable[[int], None], gigamind: Callable[..., Any]
):
    collection(24)
    more = ("--dataset", "q.jsonl", "--notes", "vault", "--mode", "keyword", "--out", "mine.toml")
    assert gigamind(*GIVEN, *more).code == 0
    judge = load_calibrated_judge(Path("mine.toml"), None)
    assert len(judge.file.fitted_on) == 2
    assert judge.file.keyword.reliability.queries == 96


def test_an_existing_file_is_never_overwritten(
    collection: Callable[[int], None], gigamind: Callable[..., Any]
):
    collection(24)
    Path("mine.toml").write_text("kept", "utf-8")
    ended = gigamind(*GIVEN, "--mode", "keyword", "--out", "mine.toml")
    assert ended.code == 1
    assert "--out mine.toml: exists already" in ended.stderr
    assert Path("mine.toml").read_text("utf-8") == "kept"


def test_too_few_queries_are_refused_with_the_number_needed(
    collection: Callable[[int], None], gigamind: Callable[..., Any]
):
    collection(19)
    ended = gigamind(*GIVEN, "--mode", "keyword", "--out", "mine.toml")
    assert (ended.code, Path("mine.toml").exists()) == (1, False)
    assert "19 answerable" in ended.stderr
    assert "20" in ended.stderr


def test_every_dataset_needs_its_vault(
    collection: Callable[[int], None], gigamind: Callable[..., Any]
):
    collection(1)
    ended = gigamind(*GIVEN, "--dataset", "other.jsonl", "--out", "mine.toml")
    assert ended.code == 1
    assert "--dataset is given 2 times and --notes 1 times" in ended.stderr


def test_a_dataset_of_another_vault_is_refused(
    collection: Callable[[int], None], gigamind: Callable[..., Any]
):
    collection(2)
    Path("vault/apple.md").unlink()
    Path("vault/banana.md").rename("vault/other.md")
    ended = gigamind(*GIVEN, "--mode", "keyword", "--out", "mine.toml")
    assert ended.code == 1
    assert "q.jsonl" in ended.stderr
    assert "apple.md" in ended.stderr


def test_rows_that_cannot_be_used_are_named_as_warnings(
    collection: Callable[[int], None], gigamind: Callable[..., Any]
):
    collection(24)
    with Path("q.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "bad"}\n')
    ended = gigamind(*GIVEN, "--mode", "keyword", "--out", "mine.toml")
    assert ended.code == 0
    assert "q.jsonl:25" in ended.stderr
