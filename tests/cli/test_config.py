"""Options from `gigamind.toml`: where it is found, what it says, and what is wrong in it, with its line."""

import json
import shutil

import click
import pytest

from gigamind.cli.config import options_from_file
from gigamind.cli.evaluations import tune
from gigamind.cli.main import cli

CONFIG = """# of a team
[search]
dataset = "queries.jsonl"
notes = "vault"
mode = "keyword"
speed-passes = 0
topk = 2

[suggest-links]
notes = "vault"
semantic = false
"""


@pytest.fixture
def config(case):
    path = case / "gigamind.toml"
    path.write_text(CONFIG, "utf-8")
    return path


def topk(case, out="out"):
    return json.loads((case / out / "run.json").read_text("utf-8"))["options"]["topk"]


def test_a_daily_command_needs_no_options_and_run_json_says_what_came_from_the_file(
    case, config, gigamind
):
    assert gigamind("eval", "search", "--out", "out").code == 0
    run = json.loads((case / "out" / "run.json").read_text("utf-8"))
    assert run["config"]["file"] == config.name
    assert set(run["config"]["options"]) == {"dataset", "notes", "mode", "speed_passes", "topk"}
    assert run["options"]["topk"] == 2
    told = gigamind("eval", "search", "--dry-run", "--topk", "4").stdout.splitlines()[-1]
    assert "gigamind.toml" in told
    assert set(told.partition(": ")[2].split(", ")) == {"dataset", "notes", "mode", "speed_passes"}


def test_a_run_without_the_file_says_nothing_of_one(case, search):
    assert search().code == 0
    assert "config" not in json.loads((case / "out" / "run.json").read_text("utf-8"))


def test_the_command_line_counts_before_the_environment_before_the_file(
    case, config, gigamind, monkeypatch
):
    assert config.is_file()
    gigamind("eval", "search", "--out", "file")
    monkeypatch.setenv("GIGAMIND_EVAL_SEARCH_TOPK", "3")
    gigamind("eval", "search", "--out", "environment")
    gigamind("eval", "search", "--out", "line", "--topk", "4")
    found = {name: topk(case, name) for name in ("file", "environment", "line")}
    assert found == {"file": 2, "environment": 3, "line": 4}


def test_the_file_of_a_folder_above_is_found_and_its_paths_are_relative_to_it(
    case, config, gigamind, monkeypatch
):
    (case / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(case / "deep" / "er")
    assert config.is_file()
    ended = gigamind("eval", "search", "--out", "out")
    assert (ended.code, topk(case / "deep" / "er")) == (0, 2)
    shutil.copy(config, case / "other.toml")
    other = (case / "other.toml").read_text("utf-8").replace("topk = 2", "topk = 5")
    (case / "other.toml").write_text(other, "utf-8")
    gigamind("eval", "search", "--out", "named", "--config", "../../other.toml")
    assert topk(case / "deep" / "er", "named") == 5
    monkeypatch.setenv("GIGAMIND_CONFIG", "../../other.toml")
    gigamind("eval", "search", "--out", "by-variable")
    assert topk(case / "deep" / "er", "by-variable") == 5


@pytest.mark.parametrize(
    ("judge", "place"),
    [("words", "words"), ("nli:tiny", "nli:{case}/tiny"), ("o.toml", "../o.toml")],
)
def test_a_judge_is_named_by_a_file_of_its_folder_or_by_its_name(case, monkeypatch, judge, place):
    (case / "tiny").mkdir()
    (case / "o.toml").write_text("", "utf-8")
    (case / "gigamind.toml").write_text(f'[answers]\njudge = "{judge}"\n', "utf-8")
    (case / "deep").mkdir()
    monkeypatch.chdir(case / "deep")
    root = click.Context(cli, info_name="gigamind")
    evaluate = click.Context(cli.get_command(root, "eval"), info_name="eval", parent=root)
    command = evaluate.command.get_command(evaluate, "answers")
    answers = click.Context(command, info_name="answers", parent=evaluate)
    assert options_from_file(answers, None) == {"judge": place.format(case=case)}


def test_commands_without_a_model_of_options_read_theirs_too(config, gigamind):
    assert config.is_file()
    ended = gigamind("suggest-links", "--note", "deploy", "--json")
    assert (ended.code, json.loads(ended.stdout)["note"]) == (0, "deploy.md")


def test_tables_of_commands_in_groups_have_both_names(case, gigamind):
    (case / "gigamind.toml").write_text('[dataset.check]\ndataset = ["queries.jsonl"]\n', "utf-8")
    assert gigamind("dataset", "check").stdout.startswith("3 of 3 rows")


WRONG = {  # content of the file: place, and a part that names what is wrong
    "[search]\ntopk = 0": ("2: ", "topk = 0"),
    "[search]\n\n'topk' = 'x'": ("3: ", "topk = 'x'"),
    "[search]\nstrict = 1": ("2: ", "strict = 1"),
    "[search]\ntopk = true": ("2: ", "topk = True"),
    "[search]\nmode = 'fuzzy'": ("2: ", "mode = 'fuzzy'"),
    "[search]\nsample = 'many'": ("2: ", "sample = 'many'"),
    "[search]\ntopk = [3]": ("2: ", "topk = [3]"),
    "[search]\nnotes-hash-exclude = 'x'": ("2: ", "notes-hash-exclude = 'x'"),
    "[search]\nnotes = 2": ("2: ", "notes = 2"),  # else an open file's number
    '[search]\nnotes = "a\\u0000"': ("2: ", "notes = 'a\\x00'"),
    "[links]\na = 1\n[search]\na = 1": ("4: ", "[search]"),
    "[search]\nquiet = true": ("2: ", "quiet"),
    "[serch]\ntopk = 1": ("1: ", "[serch]"),
    "[eval.search]\ntopk = 1": ("", "[eval]"),
    "topk = 1": ("1: ", "topk"),
}


def test_what_is_wrong_is_told_with_file_and_line(case, gigamind):
    for text, (line, wrong) in WRONG.items():
        (case / "gigamind.toml").write_text(text + "\n", "utf-8")
        ended = gigamind("eval", "search", "--dataset", "queries.jsonl", "--notes", "vault")
        assert (ended.code, ended.stdout) == (1, ""), text
        assert ended.stderr.startswith("Error: gigamind.toml"), ended.stderr
        assert f":{line}" in ended.stderr
        assert wrong in ended.stderr


def test_a_table_must_be_a_table(case, gigamind):
    (case / "gigamind.toml").write_text("[dataset]\ncheck = 3\n", "utf-8")
    ended = gigamind("dataset", "check")
    assert (ended.code, ended.stdout) == (1, "")
    assert "[dataset.check]" in ended.stderr


def test_tuning_takes_what_the_table_of_search_says_but_for_what_is_of_one_run(config):
    text = config.read_text("utf-8").replace("topk = 2", 'topk = 2\nout = "mine"\nrunner = "x"')
    config.write_text(f'{text}\n[tune.search]\nmodes = ["keyword"]\ntopk = 3\n', "utf-8")
    root = click.Context(cli, info_name="gigamind")
    group = click.Context(tune, info_name="tune", parent=root)
    search = click.Context(tune.commands["search"], info_name="search", parent=group)
    assert options_from_file(search, None) == {
        "dataset": "queries.jsonl",
        "notes": "vault",
        "mode": "keyword",
        "speed_passes": 0,
        "topk": 3,
        "modes": ["keyword"],
    }
