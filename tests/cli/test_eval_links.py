from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "vault"


@pytest.fixture
def generated(gigamind, tmp_path):
    """The options of a generated dataset."""
    given = ("--out-notes", tmp_path / "copy", "--dataset", tmp_path / "links.jsonl")
    assert gigamind("eval", "generate-links", "--notes", EXAMPLES, *given).code == 0
    return ("--notes", tmp_path / "copy", "--dataset", tmp_path / "links.jsonl")


def test_the_examples_run_from_vault_to_report_in_one_go(gigamind, generated, tmp_path):
    ended = gigamind("eval", "links", *generated, "--out", tmp_path / "out")
    assert ended.code == 0
    rows = [line.split() for line in ended.stdout.splitlines()]
    assert ["recall@5", "0.824"] in [row[:2] for row in rows]
    assert ended.stdout.endswith(f"Report: {tmp_path / 'out'}\n")
    assert ended.stderr == ""


def test_a_dry_run_writes_nothing(gigamind, generated, tmp_path):
    ended = gigamind("eval", "links", *generated, "--out", tmp_path / "out", "--dry-run")
    assert (ended.code, ended.stdout) == (0, "34 links ready, in 22 notes\n")
    assert not (tmp_path / "out").exists()


def test_the_original_vault_draws_a_warning(gigamind, generated, tmp_path):
    wrong = ("--notes", EXAMPLES, *generated[2:], "--out", tmp_path / "out")
    ended = gigamind("eval", "links", *wrong)
    assert ended.code == 0
    assert "not the original vault" in ended.stderr


def test_options_that_cannot_be_are_invalid_input(gigamind, generated):
    ended = gigamind("eval", "links", *generated, "--min-confidence", 2)
    assert (ended.code, ended.stderr) == (1, "Error: --min-confidence 2.0: must be 1 or less\n")
