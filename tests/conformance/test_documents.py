"""The commands and JSON Lines of the documents, as they are written there (documents/), over a vault of this test."""

import json
import re
import shutil
from pathlib import Path

import pytest
from row_files import read_rows, write_rows
from shell import Shell

pytestmark = pytest.mark.docs
DOCUMENTS = Path(__file__).with_name("documents")
NOTES = {
    "policies/approval.md": "# 승인 프로세스\n\n"
    + "신청서는 공용 폴더의 양식에 적어 올린다. " * 7
    + "\n\n승인은 팀장 검토 후 재무팀이 금액과 계정을 확인하고, 백만 원이 넘으면 대표가 한 번 더 본다. "
    + "반려된 신청서는 이유와 함께 돌아온다. " * 7,
    "projects/gigamind.md": "# GigaMind\n\n"
    "AI 자동 연결 설계를 적는다. RAG 시스템은 벡터 검색으로 문서를 찾는다."
    "\n\n앞으로 지식 그래프를 붙인다. [[휴게실]]에서 [[회의록]]을 쓴다.\n",
    "RAG 아키텍처.md": "---\naliases: [RAG 시스템]\n---\n# RAG 아키텍처\n\n검색 증강 생성의 부분과 흐름.\n",
    "LanceDB 통합.md": "# LanceDB 통합\n\n임베딩 벡터를 저장하고 가까운 것을 검색하는 데이터베이스를 붙였다.\n",
    "Knowledge Graph 설계.md": "# Knowledge Graph 설계\n\nHow entities and relations of notes are stored.\n",
    "AI 자동 연결.md": "# AI 자동 연결\n\n노트를 서로 잇는다. [[위키링크 제안]]과 [[회의록]]을 본다.\n",
    "위키링크 제안.md": "# 위키링크 제안\n\n[[AI 자동 연결]]이 이것을 쓴다.\n",
    "휴게실.md": "# 휴게실\n\n커피와 간식은 매주 월요일에 채운다. [[회의록]]\n",
    "회의록.md": "# 회의록\n\n3월 첫째 주에 나눈 이야기.\n",
}
UNTIMED = {
    f"GIGAMIND_EVAL_SEARCH_{name}": value
    for name, value in (("MAX_IN_FLIGHT", "4"), ("MODEL_TIMEOUT_S", "60"), ("SPEED_PASSES", "0"))
}  # no measurement of speed
FILES = {"run.json", "summary.json", "summary.md", "per_item.jsonl", "errors.jsonl"}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "work"
    for root in ("eval/notes", "my-vault"):
        for name, text in NOTES.items():
            (folder / root / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / root / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def ends(folder, tmp_path):
    """Runs a file of documents/ in the folder, which is also the user's home, and gives how it ended."""
    (tmp_path / "programs").mkdir()

    def run(name, where=folder, **environment):
        own = {"HOME": str(folder), "GIGAMIND_CACHE_DIR": str(tmp_path / "cache"), **environment}
        with Shell(where, own, {}, tmp_path / "programs") as shell:
            return shell.bash((DOCUMENTS / name).read_text("utf-8"))

    return run


def test_the_search_command_reads_the_rows_and_writes_the_files(ends, folder):
    shutil.copy(DOCUMENTS / "queries.jsonl", folder / "eval")
    ended = ends("search.sh")
    assert ended.returncode == 0, ended.stderr
    out = folder / "eval/out/search-YYYYMMDD"
    assert {file.name for file in out.iterdir()} >= FILES
    first, second = read_rows(out / "per_item.jsonl")
    assert first["ranking"][0]["note"] == "policies/approval.md"
    assert (first["id"], first["difficulty"], second["answerable"]) == ("q-001", "mid", False)
    # Each hit shows evidence; `text` of the document's span is not in this note, so there is a warning.
    assert all(hit["evidence"]["text"] for hit in first["ranking"])
    assert "expected_spans[0]" in ended.stderr + ended.stdout


def test_both_ways_to_judge_queries_run_with_a_model_from_the_environment(ends, folder, server):
    shutil.copy(DOCUMENTS / "queries.jsonl", folder / "eval")
    model = {
        "GIGAMIND_EVAL_SEARCH_MODEL": "openai/judge",
        "GIGAMIND_EVAL_SEARCH_API_BASE": server.url,
        **UNTIMED,
    }
    ended = ends("unanswerable.sh", **model)
    assert ended.returncode == 0, ended.stderr
    modes = [
        json.loads((out / "run.json").read_text("utf-8"))["options"]["unanswerable_mode"]
        for out in sorted((folder / "eval/out").iterdir())
    ]
    assert modes == ["threshold", "llm"]
    assert server.seen.total >= 2


def test_a_model_may_be_in_gigamind_toml(ends, folder, server):
    shutil.copy(DOCUMENTS / "queries.jsonl", folder / "eval")
    (folder / "gigamind.toml").write_text(
        f'[search]\nmodel = "openai/judge"\napi-base = "{server.url}"\n', "utf-8"
    )
    ended = ends("unanswerable.sh", **UNTIMED)
    assert ended.returncode == 0, ended.stderr
    assert server.seen.total >= 2


def test_without_a_model_the_error_names_all_three_places(ends, folder):
    shutil.copy(DOCUMENTS / "queries.jsonl", folder / "eval")
    ended = ends("unanswerable.sh", **UNTIMED)
    assert ended.returncode == 1
    [error] = [line for line in ended.stderr.splitlines() if line.startswith("Error")]
    for place in ("--model", "[search] in gigamind.toml", "GIGAMIND_EVAL_SEARCH_MODEL"):
        assert place in error


def test_questions_are_generated_for_each_note(ends, folder):
    ended = ends("generate_queries.sh")
    assert ended.returncode == 0, ended.stderr
    found = read_rows(folder / "eval/queries.jsonl")
    assert {note for row in found for note in row["expected_notes"]} == set(NOTES)
    assert all(row["answerable"] for row in found)


def test_links_are_removed_in_a_copy_and_suggested_again(ends, folder):
    ended = ends("generate_links.sh")
    assert ended.returncode == 0, ended.stderr
    for name, text in NOTES.items():
        assert (folder / "my-vault" / name).read_text("utf-8") == text
    removed = read_rows(folder / "eval/links.jsonl")
    assert len(removed) == 2  # of 6, 0.3 of them
    for row in removed:
        start, end = row["anchor_range"]["start"], row["anchor_range"]["end"]
        text = (folder / "eval/notes-modified" / row["source_note"]).read_text("utf-8")
        assert text[start:end] == row["anchor"]
    ended = ends("links.sh")
    assert ended.returncode == 0, ended.stderr
    assert {file.name for file in (folder / "eval/out/links-YYYYMMDD").iterdir()} >= FILES
    summary = json.loads((folder / "eval/out/links-YYYYMMDD/summary.json").read_text("utf-8"))
    assert summary["overall"]["links"]["recall_at_5"] > 0


@pytest.mark.parametrize("name", ["links.jsonl", "links_generated.jsonl"])
def test_the_rows_of_links_are_read(ends, folder, name):
    shutil.copytree(folder / "eval/notes", folder / "eval/notes-modified")
    shutil.copy(DOCUMENTS / name, folder / "eval/links.jsonl")
    ended = ends("links.sh")
    assert ended.returncode == 0, ended.stderr
    [row] = read_rows(folder / "eval/out/links-YYYYMMDD/per_item.jsonl")
    assert row["note"] == "projects/gigamind.md"
    assert row["expected"]


def test_suggestions_are_shown_as_in_the_example(ends, folder):
    ended = ends("suggest_links.sh", folder / "eval/notes")
    assert ended.returncode == 0, ended.stderr
    head, *found = ended.stdout.strip().split("\n\n")
    assert re.fullmatch(r"Found \d+ link suggestions?:", head)
    form = (
        r'\d+\. "[^"]+" → \[\[[^]]+\]\]\n'
        r"   Position: projects/gigamind\.md:\d+, Confidence: 0\.\d\d\n"
        r"   Reason: [^\n]+\n"
        r"   Scores: [^\n]+"
    )
    assert all(re.fullmatch(form, one) for one in found)
    shown = dict(re.findall(r'"([^"]+)" → \[\[([^]]+)\]\]', ended.stdout))
    assert shown["RAG 시스템"] == "RAG 아키텍처"
    assert "벡터 검색" not in shown  # a phrase without a word of its target: below 0.5


def test_an_evaluation_has_what_the_example_has(folder, server, tmp_path):
    (tmp_path / "programs").mkdir()
    row = {
        "id": "a",
        "question": "PCR 조건은?",
        "answer": "PCR은 72도에서 한다 [노트 1].",
        "context_notes": [
            {"title": "PCR", "text": "PCR은 72도에서 한다."},
            {"title": "전기영동", "text": "젤은 1 %로 만든다."},
        ],
    }
    write_rows(folder / "answers.jsonl", [row])
    own = {"HOME": str(folder), "GIGAMIND_CACHE_DIR": str(tmp_path / "cache")}
    command = (
        "gigamind eval answers --dataset answers.jsonl --out out --model openai/judge"
        " --max-in-flight 4 --model-timeout-s 60"
    )
    with Shell(folder, own, {}, tmp_path / "programs") as shell:
        ended = shell.bash(f"{command} --api-base {server.url}")
    assert ended.returncode == 0, ended.stderr
    [item] = read_rows(folder / "out/per_item.jsonl")
    expected = json.loads((DOCUMENTS / "evaluation.json").read_text("utf-8"))
    assert expected.keys() <= item["evaluation"].keys()
    for use, example in zip(
        item["evaluation"]["source_coverage"], expected["source_coverage"], strict=True
    ):
        assert example.keys() <= use.keys()
        assert use["note_index"] == example["note_index"]
