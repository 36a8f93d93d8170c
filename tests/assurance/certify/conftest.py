import pytest
from certified import ITEMS, JUDGE
from judged_folders import write_judged_run
from row_files import write_rows


@pytest.fixture
def run_folder(tmp_path):
    def write(name="run", items=ITEMS, task="search", judge=JUDGE, errors=(), **changes):
        about = {"run_id": name, "task": task, "judge": judge} | changes
        return write_judged_run(tmp_path / name, items, errors=errors, **about)

    return write


@pytest.fixture
def labels_file(tmp_path):
    return lambda rows: write_rows(tmp_path / "labels.jsonl", rows)
