"""Files of CI: they are read, and every command, input and file that they name exists."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from forked import command
from typed import parsed, words_of

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
ACTION = yaml.safe_load((ROOT / ".github" / "actions" / "gate" / "action.yml").read_text("utf-8"))
GITHUB = yaml.safe_load((EXAMPLES / "ci" / "github.yml").read_text("utf-8"))
GITLAB = yaml.safe_load((EXAMPLES / "ci" / "gitlab.yml").read_text("utf-8"))
CI = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))


def test_the_example_for_github_gives_the_action_inputs_that_it_has_and_options_that_exist():
    (job,) = GITHUB["jobs"].values()
    (gate,) = (step for step in job["steps"] if "/actions/gate@" in step.get("uses", ""))
    assert set(gate["with"]) <= set(ACTION["inputs"])
    used = re.findall(r"steps\.gate\.outputs\.([\w-]+)", str(job))
    assert used
    assert set(used) <= set(ACTION["outputs"])
    assert GITHUB["permissions"]["pull-requests"] == "write"
    given = [part for name in ("gates", "baseline") for part in (f"--{name}", gate["with"][name])]
    given[2] = "--compare"
    parsed(["eval", "search", "--dataset", "queries.jsonl", *given])


def test_the_page_of_ci_names_inputs_and_a_hook_that_exist():
    text = (ROOT / "docs" / "ci.md").read_text("utf-8")
    workflow, config = map(yaml.safe_load, re.findall(r"(?s)```yaml\n(.*?)```", text))
    gate = workflow["jobs"]["gate"]["steps"][-1]
    (written,) = (step for step in GITHUB["jobs"]["gate"]["steps"] if step.get("id") == "gate")
    assert gate["with"].items() <= written["with"].items()
    (used,) = config["repos"][0]["hooks"]
    assert used["id"] == HOOK["id"]
    assert parsed([*shlex.split(HOOK["entry"])[1:], *used["args"], "queries.jsonl"]).params["notes"]


@pytest.mark.parametrize("task", ["search", "answers", "links"])
def test_every_option_that_the_action_gives_is_one_of_each_evaluation(task):
    environment = [step.get("env", {}) for step in ACTION["runs"]["steps"]]
    named = {name.removeprefix("GATE_").lower() for env in environment for name in env}
    script = (ROOT / ".github" / "actions" / "gate" / "gate.py").read_text("utf-8")
    (options,) = re.findall(r"^OPTIONS = \((.*)\)$", script, re.MULTILINE)
    names = re.findall(r'"(\w+)"', options)
    assert set(names) <= named
    values = {"phase": "beta", "lang": "ko"}
    given = [part for name in names for part in (f"--{name}", values.get(name, "x"))]
    literal = re.findall(r'"(--[\w-]+)"', script.partition("def run(")[2].partition("\ndef ")[0])
    assert {"--out", "--comment", "--junit", "--fail-on-regression"} == set(literal)
    flags = [part for name in literal for part in ([name] if "fail" in name else [name, "x"])]
    parsed(["eval", task, *given, *flags], elided=True)


def test_every_input_of_the_action_is_used_and_every_output_is_made():
    steps = str(ACTION["runs"]["steps"])
    assert {f"inputs.{name}" for name in ACTION["inputs"]} == set(
        re.findall(r"inputs\.[\w-]+", steps)
    )
    for name, output in ACTION["outputs"].items():
        assert output["value"] == f"${{{{ steps.gate.outputs.{name} }}}}"


def test_the_example_for_gitlab_runs_a_command_that_exists_and_keeps_what_it_writes():
    script = GITLAB["search"]["script"]
    (words,) = (words for line in script if (words := words_of(line)))
    values = parsed([*words, "--dataset", "queries.jsonl"]).params
    assert values["fail_on_regression"]
    assert str(values["junit"]) == GITLAB["search"]["artifacts"]["reports"]["junit"]
    assert {str(values["out"]), str(values["comment"])} == set(
        GITLAB["search"]["artifacts"]["paths"]
    )


def test_the_workflow_of_this_repository_runs_what_must_hold():
    jobs = [step["run"] for job in CI["jobs"].values() for step in job["steps"] if "run" in step]
    assert jobs == [".ci/run", ".ci/docs", ".ci/faults", ".ci/versions"]
    for script in jobs:
        assert (ROOT / script).stat().st_mode & 0o100


def hook(*files):
    """Its entry as pre-commit runs it: the files behind it."""
    program, *arguments = shlex.split(HOOK["entry"])
    assert program == "gigamind"
    return command(ROOT, *arguments, *files).completed()


def test_the_hook_passes_sound_datasets_and_names_the_bad_row_of_another(tmp_path):
    bad = tmp_path / "queries.jsonl"
    bad.write_text('{"id": "a", "query": "q", "answerable": true, "expected_notes": []}\n')
    good = [EXAMPLES / name for name in ("queries.jsonl", "answers.jsonl")]
    assert hook(*good).returncode == 0
    ended = hook(*good, bad)
    assert ended.returncode == 1
    assert re.search(rf"{re.escape(str(bad))}:1: .*expected_notes", ended.stdout)


def test_the_hook_looks_at_files_with_the_names_of_datasets():
    looked_at = re.compile(HOOK["files"])
    for name in ("queries.jsonl", "eval/links-2026.jsonl", "answers.jsonl", "a/b/questions.jsonl"):
        assert looked_at.search(name), name
    for name in ("events.jsonl", "per_item.jsonl", "queries.json", "old-queries.jsonl.bak"):
        assert not looked_at.search(name), name
