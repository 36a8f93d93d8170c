"""The action of CI, its steps run as a runner runs them: by bash, with inputs as variables and GitHub's files."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml
from gate_policy import shipped
from search_servers import search_server
from shell import Shell

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "gate"
SPEC = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
STEPS = {step["name"]: step for step in SPEC["runs"]["steps"] if "run" in step}
FRUITS = ("apple", "배", "cherry", "복숭아", "fig", "포도")
MARKER = "<!-- gigamind gate: search -->"


@dataclass
class Runner:
    """A job on a pull request.

    Attributes:
        folder: the workspace, with GitHub's files beside it.
        api: address of what plays GitHub.
        outputs: of the action so far.
    """

    folder: Path
    api: str = "http://127.0.0.1:9"
    outputs: dict[str, str] = field(default_factory=dict)

    def run(self, step: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run a step of the action with these inputs (`_` for `-`) and the defaults of the others."""
        values = {name: str(spec.get("default", "")) for name, spec in SPEC["inputs"].items()}
        values |= {name.replace("_", "-"): value for name, value in inputs.items()}
        context = {f"inputs.{name}": value for name, value in values.items()}
        context |= {f"steps.gate.outputs.{name}": value for name, value in self.outputs.items()}
        told = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: context[found[1]], text)
            for name, text in STEPS[step].get("env", {}).items()
        }
        output = self.folder / "output"
        output.write_text("")
        ended = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", STEPS[step]["run"]],
            cwd=self.folder,
            env={**os.environ, **self.variables(), **told},
            capture_output=True,
            text=True,
            check=False,
        )
        lines = output.read_text("utf-8").splitlines()
        self.outputs |= dict(line.split("=", 1) for line in lines)
        return ended

    def variables(self) -> Mapping[str, str]:
        """What a runner sets."""
        return {
            "GITHUB_ACTION_PATH": str(ACTION),
            "GITHUB_API_URL": self.api,
            "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_REPOSITORY": "team/vault",
            "GITHUB_RUN_ID": "123",
            "GITHUB_RUN_NUMBER": "7",
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_SHA": "0" * 40,
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_WORKFLOW": "Search",
            "GIGAMIND_CACHE_DIR": str(self.folder / "cache"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "RUNNER_TEMP": str(self.folder / "temp"),
        }

    def evaluate(self, **inputs: str) -> int:
        """The exit code of the gate over the notes of the workspace."""
        fixed = {"dataset": "queries.jsonl", "notes": "vault", "options": OPTIONS, "phase": "beta"}
        return self.run("Evaluate", **fixed | {"gates": "gates.toml"} | inputs).returncode

    @property
    def comment(self) -> str:
        return Path(self.outputs["comment"]).read_text("utf-8")


OPTIONS = "--mode keyword --speed-passes 0"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """One that has gigamind where the step before puts it, and a baseline of six queries, all of them found."""
    folder = tmp_path_factory.mktemp("job")
    program = folder / "temp" / "gigamind-gate" / "venv" / "bin" / "gigamind"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gigamind "$@"\n')
    program.chmod(0o755)
    (folder / "vault").mkdir()
    for fruit in FRUITS:
        (folder / "vault" / f"{fruit}.md").write_text(f"# {fruit}\n\n{fruit} tree\n", "utf-8")
    rows = [
        {"id": f"q{n}", "query": fruit, "answerable": True, "expected_notes": [f"{fruit}.md"]}
        for n, fruit in enumerate(FRUITS)
    ]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "gates.toml").write_text(shipped("notes", "hardware"), "utf-8")
    request = {"number": 5, "head": {"sha": "abcdef" * 6}}
    (folder / "event.json").write_text(json.dumps({"pull_request": request}))
    runner = Runner(folder)
    assert runner.evaluate(out="base") == 0
    assert runner.outputs["verdict"] == "measured"
    (folder / "summary.md").unlink()
    # From here on forked: the action is what is tested.
    with Shell(folder, {}, {}, tmp_path_factory.mktemp("programs")) as shell:
        shutil.copy(shell.home / "gigamind", program)
        yield folder


@pytest.fixture
def runner(workspace, tmp_path):
    return Runner(shutil.copytree(workspace, tmp_path / "job"))


def test_a_run_that_is_as_good_passes_and_all_outputs_stand(runner):
    assert runner.evaluate(baseline="base") == 0
    found = runner.outputs
    assert set(found) == set(SPEC["outputs"])
    assert (found["verdict"], found["exit-code"]) == ("passed", "0")
    assert (Path(found["out"]) / "compare.md").exists()
    assert ET.parse(found["junit"]).getroot().get("failures") == "0"
    first, second, *_ = runner.comment.splitlines()
    assert first == MARKER
    assert second.startswith("### ")
    assert runner.comment.endswith(
        "\nabcdefabcdef · [Search #7](https://github.example/team/vault/actions/runs/123)\n"
    )
    assert runner.evaluate(baseline="base", out=found["out"]) == 1  # it stands already
    assert runner.outputs["verdict"] == "error"


def test_a_run_that_regressed_ends_in_4_and_names_what_got_worse(runner):
    (runner.folder / "vault" / "apple.md").write_text("fig\n", "utf-8")
    (runner.folder / "vault" / "fig.md").write_text("apple, which is 배\n", "utf-8")
    (runner.folder / "vault" / "cherry.md").unlink()
    assert runner.evaluate(baseline="base", lang="ko") == 4
    assert (runner.outputs["verdict"], runner.outputs["exit-code"]) == ("failed", "4")
    assert int(ET.parse(runner.outputs["junit"]).getroot().get("failures")) >= 1
    first, title, *_ = runner.comment.splitlines()
    assert first == MARKER
    assert re.match("### .*[가-힣]", title)
    shown = runner.comment.split("<details>")[0]
    assert re.search(r"^1\. \*\*cherry\*\* \(`q2`\): \D+$", shown, re.MULTILINE)  # lost
    assert re.search(r"^2\. \*\*fig\*\* \(`q4`\): 1\D+2\D*$", shown, re.MULTILINE)  # worse
    summary = (runner.folder / "summary.md").read_text("utf-8")
    assert summary.startswith(f"{title}\n")
    assert summary.count("<details>") == 1


def test_a_pull_request_cannot_pass_by_changing_what_decides(runner, monkeypatch):
    folder = runner.folder

    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", folder, *identity, *arguments], check=True)

    (folder / "gigamind.toml").write_text('[search]\ndataset = "queries.jsonl"\n')
    git("init", "--quiet", "--initial-branch", "main")
    git("add", "queries.jsonl", "gates.toml", "base", "vault", "gigamind.toml")
    git("commit", "--quiet", "--message", "base")
    git("remote", "add", "origin", str(folder))
    git("checkout", "--quiet", "-b", "change")
    for fruit in FRUITS[:3]:
        (folder / "vault" / f"{fruit}.md").unlink()
    (folder / "gates.toml").write_text("[comparable]\nrelax = ['notes', 'hardware', 'settings']\n")
    rows = (folder / "queries.jsonl").read_text().splitlines()[:1]
    (folder / "queries.jsonl").write_text(rows[0] + "\n")
    (folder / "easy.jsonl").write_text(rows[0] + "\n")
    (folder / "gigamind.toml").write_text('[search]\ndataset = "easy.jsonl"\n')
    git("commit", "--quiet", "--all", "--message", "change")
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    code = runner.evaluate(baseline="base", dataset="")
    assert code == 4, runner.comment
    assert ET.parse(runner.outputs["junit"]).getroot().get("tests") != "0"
    assert "`queries.jsonl`, `gates.toml`" in runner.comment
    assert "`queries.jsonl`, `gates.toml`" in (folder / "summary.md").read_text("utf-8")
    monkeypatch.setenv("GITHUB_BASE_REF", "gone")
    assert runner.evaluate(baseline="base") == 1


def test_a_dataset_that_cannot_be_used_is_told_in_the_comment_and_in_junit(runner):
    (runner.folder / "queries.jsonl").write_text('{"id": "x"\n')
    assert runner.evaluate(baseline="base", lang="ko") == 1
    assert runner.outputs["verdict"] == "error"
    first, title, *_ = runner.comment.splitlines()
    assert first == MARKER
    assert re.match("### .*[가-힣]", title)
    assert "queries.jsonl:1: " in runner.comment
    assert ET.parse(runner.outputs["junit"]).getroot().get("errors") == "1"


def test_options_that_cannot_be_end_in_1_and_leave_a_comment_too(runner):
    assert runner.evaluate(options="--mode telepathy") == 1
    title = "### ❌ `gigamind eval search` · exit code 1\n"
    assert runner.comment.startswith(f"{MARKER}\n{title}")
    assert (runner.folder / "summary.md").read_text("utf-8").startswith(title)


def test_inputs_are_no_parts_of_a_script(runner):
    assert runner.evaluate(dataset="$(touch stolen); queries.jsonl", name="a --> b/c") == 1
    assert not (runner.folder / "stolen").exists()
    assert runner.comment.startswith("<!-- gigamind gate: a -- b/c -->\n")
    assert all("${{" not in step["run"] for step in STEPS.values())


class Conversation:
    """The comments of a pull request on GitHub, as its API gives and takes them."""

    def __init__(self, *comments: tuple[str, str]) -> None:
        self.comments = [
            {"id": n, "user": {"type": kind}, "body": body}
            for n, (kind, body) in enumerate(comments)
        ]
        self.may_write = True

    def __call__(self, asked):
        assert asked.headers["authorization"] == "Bearer secret"
        if asked.method == "GET":
            assert asked.path == "/repos/team/vault/issues/5/comments"
            size, page = int(asked.params["per_page"]), int(asked.params["page"])
            return 200, self.comments[size * (page - 1) : size * page]
        if not self.may_write:
            return 403, {"message": "Resource not accessible by integration"}
        if asked.method == "POST":
            assert asked.path == "/repos/team/vault/issues/5/comments"
            made = {"id": len(self.comments), "user": {"type": "Bot"}, "body": asked.body["body"]}
            self.comments.append(made)
            return 201, made
        found = self.comments[int(asked.path.removeprefix("/repos/team/vault/issues/comments/"))]
        found["body"] = asked.body["body"]
        return 200, found


def written(runner, text):
    """The comment that the step before wrote."""
    file = runner.folder / "comment.md"
    file.write_text(f"{MARKER}\n{text}\n", "utf-8")
    runner.outputs["comment"] = str(file)


def test_a_second_run_writes_the_same_comment_anew_and_leaves_those_of_people_alone(runner):
    people = [("User", f"{MARKER}\r\nquoted")] + [("User", f"text {n}") for n in range(120)]
    github = Conversation(*people, ("Bot", "<!-- gigamind gate: links -->\nof another gate"))
    with search_server(github) as server:
        runner.api = server.url
        for text in ("good", "나쁨"):
            written(runner, text)
            assert runner.run("Comment", token="secret").returncode == 0
    assert len(github.comments) == len(people) + 2
    assert github.comments[0]["body"] == f"{MARKER}\r\nquoted"
    assert github.comments[-1]["body"] == f"{MARKER}\n나쁨\n"


def test_a_token_that_may_not_comment_fails_no_gate(runner):
    github = Conversation()
    github.may_write = False
    written(runner, "good")
    with search_server(github) as server:
        runner.api = server.url
        ended = runner.run("Comment", token="secret")
    assert ended.returncode == 0
    warning = "::warning::gigamind: the comment could not be written (HTTP Error 403"
    assert ended.stdout.startswith(warning)


def test_without_a_pull_request_there_is_no_comment(runner):
    (runner.folder / "event.json").write_text("{}")
    written(runner, "good")
    ended = runner.run("Comment", token="secret")
    assert ended.returncode == 0
    assert ended.stdout.startswith("No comment")


@pytest.mark.whole
@pytest.mark.timeout(300)
def test_the_checkout_of_the_action_is_what_is_installed(tmp_path, monkeypatch):
    # No index and no other packages: those that build it are of the environment of the tests.
    for name, value in {"NO_INDEX": "1", "NO_DEPS": "1", "NO_BUILD_ISOLATION": "false"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    runner = Runner(tmp_path)
    site = next(path for path in sys.path if path.endswith("site-packages"))
    runner.variables = lambda: {**Runner.variables(runner), "PYTHONPATH": site}
    ended = runner.run("Install gigamind")
    assert ended.returncode == 0, ended.stderr
    venv = tmp_path / "temp" / "gigamind-gate" / "venv"
    installed = next(venv.glob("lib/python*/site-packages/gigamind"))
    for file in ("cli/main.py", "evaluation/release.py"):
        assert (installed / file).read_bytes() == (ROOT / "gigamind" / file).read_bytes()
    assert (venv / "bin" / "gigamind").exists()
