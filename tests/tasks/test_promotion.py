"""Which run becomes the baseline, and which one must not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from vault_files import write_files

from gigamind.errors import InputError
from gigamind.release.model import read_baseline
from gigamind.tasks import KINDS, evaluate
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.promotion import PromoteOptions, promote_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs, as a deployment leaves them; the second was held against the first and is like it."""
    folder = tmp_path_factory.mktemp("promotion")
    notes = {
        "leave.md": "annual leave is 15 days\n",
        "misc.md": "lunch menu\n",
        "travel.md": "trains and hotels\n",
    }
    vault = write_files(folder / "vault", notes)
    row = {"id": "q", "query": "annual leave", "answerable": True, "expected_notes": ["leave.md"]}
    (folder / "queries.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    home = folder / "home"
    for name, compare in (("20260101-000000", None), ("20260101-000000-2", "20260101-000000")):
        given = {
            "dataset": folder / "queries.jsonl",
            "notes": vault,
            "mode": "keyword",
            "speed_passes": 0,
            "out": home / name,
            "compare": compare and home / compare,
        }
        evaluate(SearchEvalOptions.model_validate(given))
    return home


@pytest.fixture
def home(runs: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    return shutil.copytree(runs, tmp_path / "home")


def promoted(run: Path, folder: Path) -> str:
    promote_run(PromoteOptions(run=run, folder=folder))
    return read_baseline(folder, KINDS).run_id


def run_id(run: Path) -> str:
    return json.loads((run / "run.json").read_text("utf-8"))["run_id"]


def test_of_a_folder_of_runs_the_last_one_becomes_the_baseline(home: Path, tmp_path: Path):
    last = home / "20260101-000000-2"
    (home / "20260101-000001.unfinished").mkdir()
    assert promoted(home, tmp_path / "baselines") == run_id(last)


def test_a_verdict_that_cannot_be_read_is_no_pass(home: Path, tmp_path: Path):
    (home / "20260101-000000-2" / "compare.json").write_text("{", "utf-8")
    with pytest.raises(InputError, match=r"compare\.json: "):
        promoted(home, tmp_path / "baselines")


def edit(file: Path, **changes: object) -> None:
    content = json.loads(file.read_text("utf-8"))
    for name, value in changes.items():
        content[name] = {**content[name], **value} if isinstance(value, dict) else value
    file.write_text(json.dumps(content), "utf-8")


def sampled(run: Path) -> None:
    edit(run / "run.json", options={"sample": "10"})


def interrupted(run: Path) -> None:
    edit(run / "run.json", status="interrupted")


def test_a_run_that_is_not_comparable_does_not(home: Path, tmp_path: Path):
    last = home / "20260101-000000-2"
    gate = {"verdict": "not-comparable", "rules": [], "reasons": ["the notes differ"]}
    edit(last / "compare.json", gate=gate)
    with pytest.raises(InputError, match=r"the notes differ.*--force"):
        promoted(last, tmp_path / "baselines")


def never_compared(run: Path) -> None:
    (run / "compare.json").unlink()


@pytest.mark.parametrize(
    ("ended", "why"),
    [(sampled, r"\(10\)"), (interrupted, "interrupted"), (never_compared, "verdict")],
)
def test_the_last_run_that_is_no_whole_result_becomes_the_baseline_by_name_alone(
    home: Path, tmp_path: Path, ended: Callable[[Path], None], why: str
):
    last = home / "20260101-000000-2"
    ended(last)
    with pytest.raises(InputError, match=f"{last.name}: .*{why}"):
        promoted(home, tmp_path / "baselines")
    assert not (tmp_path / "baselines").exists()
    assert promoted(last, tmp_path / "baselines") == run_id(last)
