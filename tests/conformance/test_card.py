"""Which packages of the card a job loads: each runs in a process of its own, which lists its modules at the end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from qdrant_server import qdrant
from row_files import write_rows
from tiny_model import write_tiny_model

pytestmark = pytest.mark.whole
ROOT = Path(__file__).parents[2]
PACKAGES = {
    "prefect": "prefect",
    "litellm": "litellm",
    "instructor": "instructor",
    "pydantic": "pydantic",
    "qdrant-client": "qdrant_client",
    "fastembed": "fastembed",
    "rank-bm25": "rank_bm25",
    "tenacity": "tenacity",
    "jinja2": "jinja2",
}
BASE = {"pydantic", "rank-bm25", "jinja2"}
MODEL = {"litellm", "instructor", "tenacity"}
UNTIMED = ("--speed-passes", "0", "--warmup", "0")  # no measurement of speed
JOB = """
import sys
from gigamind.cli.main import main
try:
    main(sys.argv[2:])
finally:
    with open(sys.argv[1], "w") as file:
        print(*sys.modules, file=file)
"""
NOTES = {
    "무역/관세 신고.md": "# 관세 신고\n\n관세 신고는 통관 사흘 전에 한다. [[컨테이너]] 번호를 적는다.\n",
    "컨테이너.md": "# 컨테이너\n\n컨테이너는 부두 세 곳에 쌓는다.\n",
    "tides.md": "# Tides\n\nHigh tide closes the southern gate for two hours.\n",
}
ROWS = [
    {"id": "a", "query": "관세 신고는 언제?", "answerable": True, "expected_notes": ["관세 신고"]},
    {"id": "b", "query": "when does the gate close?", "answerable": True, "expected_notes": ["tides"]},
    {"id": "c", "query": "점심 메뉴", "answerable": False, "expected_notes": []},
]  # fmt: skip


@pytest.fixture
def loaded(tmp_path):
    """The packages of the card that `gigamind eval search`, with these options, has loaded when it ends."""
    for name, text in NOTES.items():
        (tmp_path / "vault" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "vault" / name).write_text(text, "utf-8")
    write_rows(tmp_path / "queries.jsonl", ROWS)

    def run(*options: str, **environment: str) -> set[str]:
        command = ["eval", "search", "--dataset", "queries.jsonl", "--notes", "vault"]
        done = subprocess.run(
            [sys.executable, "-c", JOB, "modules", *command, "--out", "out", *options],
            cwd=tmp_path,
            env=os.environ | {"GIGAMIND_CACHE_DIR": str(tmp_path / "cache")} | environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "out" / "report.html").is_file()
        modules = set((tmp_path / "modules").read_text().split())
        return {package for package, module in PACKAGES.items() if module in modules}

    return run


@pytest.fixture
def by_model(server):
    asked = ("--unanswerable-mode", "llm", "--model", "openai/judge", "--api-base", server.url)
    return (*asked, "--max-in-flight", "4", "--model-timeout-s", "60", *UNTIMED)


@pytest.fixture
def flow_of(prefect_stack, tmp_path):
    """What sends a flow run to the server of the session."""
    return {"PREFECT_API_URL": prefect_stack.api, "PREFECT_HOME": str(tmp_path / "prefect")}


@pytest.fixture
def by_fastembed(tmp_path):
    (tmp_path / "tiny").mkdir()
    write_tiny_model(tmp_path / "tiny")
    return ("--embedder", "fastembed:tiny")


def test_a_search_run_loads_three(loaded):
    assert loaded() == BASE


def test_a_search_run_with_a_model_loads_six(loaded, by_model):
    assert loaded(*by_model) == BASE | MODEL


def test_an_embedder_of_fastembed_loads_it(loaded, by_fastembed):
    assert loaded(*by_fastembed, *UNTIMED) == BASE | {"fastembed"}


@pytest.mark.prefect
def test_a_flow_with_a_model_a_qdrant_server_and_fastembed_loads_nine(
    loaded, by_model, flow_of, by_fastembed
):
    with qdrant() as standing:
        given = (*by_model, *by_fastembed, "--qdrant-url", standing.url, "--flow")
        assert loaded(*given, **flow_of) == set(PACKAGES)
        assert standing.collections  # it was filled and searched, not only connected to
