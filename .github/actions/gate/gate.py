"""Steps of the action: `install` gigamind, `run` an evaluation, `comment` on the pull request.

Inputs are environment variables GATE_*, never parts of a script, so that no branch name or path is executed. gigamind
writes the comment (`--comment`); this script adds a marker, by which the next run finds it, and a link to the run.
"""

import json
import os
import shlex
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

PACKAGE = "gigamind-eval"
OPTIONS = ("dataset", "notes", "compare", "phase", "gates", "lang")
# What decides a verdict. A pull request cannot pass by changing it: files and their names are those of its base branch.
DECIDING = ("dataset", "compare", "phase", "gates")
CONFIG = "gigamind.toml"
A_PAGE = 100
SIGNALLED = 128


def given(name: str) -> str:
    """Return an input, or "" if it is missing."""
    return os.environ.get(f"GATE_{name.upper()}", "").strip()


def temporary() -> Path:
    """Return the folder for environment, comment and results."""
    return Path(os.environ["RUNNER_TEMP"]) / "gigamind-gate"


def install() -> int:
    """Install gigamind into its own environment, from this checkout or in the requested version."""
    extras = f"[{given('extras')}]" if given("extras") else ""
    version = given("version")
    checkout = Path(__file__).resolve().parents[3]
    wanted = f"{PACKAGE}{extras}=={version}" if version else f"{checkout}{extras}"
    folder = temporary() / "venv"
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    return subprocess.run([*pip, "--disable-pip-version-check", wanted], check=False).returncode


def run() -> int:
    """Evaluate, write outputs and comment in any case, and return gigamind's exit code."""
    task = given("task")
    name = given("name") or task
    folder = temporary() / name.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    out = Path(given("out") or folder / "out")
    comment, junit = folder / "comment.md", folder / "junit.xml"
    for file in (comment, junit):  # from an earlier gate of this name
        file.unlink(missing_ok=True)
    compared = out / "compare.json"
    stale = compared.exists()
    values = {key: given(key) for key in OPTIONS}
    changed = read_from_base(task, values)
    options = [part for key in OPTIONS if values[key] for part in (f"--{key}", values[key])]
    if values["compare"]:
        options.append("--fail-on-regression")
    files = ["--out", out, "--comment", comment, "--junit", junit]
    gigamind = temporary() / "venv" / "bin" / "gigamind"
    command = [gigamind, "eval", task, *options, *files, *shlex.split(given("options"))]
    code = subprocess.run(command, check=False).returncode
    code = code if code >= 0 else SIGNALLED - code
    if (
        not comment.exists()
    ):  # invalid options or a crash; the log may contain too much for a comment
        comment.write_text(f"### ❌ `gigamind eval {task}` · exit code {code}\n\n", "utf-8")
        append("GITHUB_STEP_SUMMARY", comment.read_text("utf-8"))
    notice = ""
    if changed:
        names = ", ".join(f"`{file.replace('`', '')}`" for file in changed)
        notice = f"This pull request changes {names}. The gate used the base branch's version.\n\n"
        append("GITHUB_STEP_SUMMARY", notice)
    text = f"{marker(name)}\n{comment.read_text('utf-8')}{notice}{source()}\n"
    comment.write_text(text, "utf-8")
    outputs = {
        "verdict": "error" if stale else verdict(compared, code),
        "exit-code": code,
        "out": out,
        "comment": comment,
        "junit": junit,
    }
    append("GITHUB_OUTPUT", "".join(f"{key}={value}\n" for key, value in outputs.items()))
    return code


def read_from_base(task: str, values: dict[str, str]) -> list[str]:
    """Restore from the base branch what decides the verdict, and return which of these files the pull request changes.

    Adds to `values` what the base branch's gigamind.toml says. A file that the base branch lacks stays as it is.
    """
    base = os.environ.get("GITHUB_BASE_REF")
    if not base:
        return []
    git("fetch", "--quiet", "--depth=1", "origin", f"refs/heads/{base}")
    config = git("show", f"FETCH_HEAD:{CONFIG}", check=False)
    table = tomllib.loads(config).get(task, {}) if config else {}
    for key in DECIDING:
        values[key] = values[key] or str(table.get(key, ""))
    changed = list[str]()
    for path in (values[key] for key in DECIDING if key != "phase" and values[key]):
        if git("ls-tree", "FETCH_HEAD", "--", path, check=False):
            found = git("diff", "-z", "--name-only", "--no-renames", "FETCH_HEAD", "--", path)
            changed += filter(None, found.split("\0"))
            git("checkout", "--quiet", "FETCH_HEAD", "--", path)
    return changed


def git(*arguments: str, check: bool = True) -> str:
    """Return what git prints; "" if it fails and `check` is false."""
    ended = subprocess.run(["git", *arguments], check=check, stdout=subprocess.PIPE)
    return "" if ended.returncode else ended.stdout.decode()


def marker(name: str) -> str:
    """Return the invisible first line of a gate's comment."""
    return f"<!-- gigamind gate: {name.replace('>', '')} -->"


def source() -> str:
    """Return commit and run of a comment, as Markdown."""
    on = os.environ
    head = pull_request().get("head", {}).get("sha") or on["GITHUB_SHA"]
    run_of = (
        f"{on['GITHUB_SERVER_URL']}/{on['GITHUB_REPOSITORY']}/actions/runs/{on['GITHUB_RUN_ID']}"
    )
    return f"{head[:12]} · [{on['GITHUB_WORKFLOW']} #{on['GITHUB_RUN_NUMBER']}]({run_of})"


def verdict(compared: Path, code: int) -> str:
    """Return the gates' verdict; "measured" without a comparison, "error" without a result."""
    if code in {0, 1, 4} and compared.exists():
        return json.loads(compared.read_text("utf-8"))["gate"]["verdict"]
    return "error" if code else "measured"


def append(variable: str, text: str) -> None:
    """Append `text` to the file that GitHub names in `variable`."""
    with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
        file.write(text)


def comment() -> int:
    """Create or update the comment. A failure does not fail the gate."""
    number = pull_request().get("number")
    if number is None:
        print("No comment: this run belongs to no pull request.")
        return 0
    body = Path(given("comment")).read_text("utf-8")
    issues = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    try:
        old = existing_comment(f"{issues}/{number}/comments", body.partition("\n")[0])
        if old is None:
            ask("POST", f"{issues}/{number}/comments", body)
        else:
            ask("PATCH", f"{issues}/comments/{old}", body)
    except urllib.error.URLError as error:  # the token of a fork is read-only
        print(f"::warning::gigamind: the comment could not be written ({error})")
    return 0


def pull_request() -> dict[str, Any]:
    """Return the pull request of this run, or {} if there is none."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    return event.get("pull_request", {})


def existing_comment(path: str, first_line: str) -> int | None:
    """Return the id of the comment of an earlier run; comments by people do not count."""
    for entry in comments(path):
        line = entry["body"].partition("\n")[0].strip()
        if entry["user"]["type"] == "Bot" and line == first_line:
            return entry["id"]
    return None


def comments(path: str) -> Iterator[dict[str, Any]]:
    """Yield all comments of a pull request."""
    page = 1
    while batch := ask("GET", f"{path}?per_page={A_PAGE}&page={page}"):
        yield from batch
        if len(batch) < A_PAGE:
            return
        page += 1


def ask(method: Literal["GET", "POST", "PATCH"], path: str, body: str | None = None) -> Any:  # noqa: ANN401  JSON
    """Send one request to GitHub's API.

    Raises:
        URLError: GitHub is unreachable or refuses.
    """
    request = urllib.request.Request(
        os.environ["GITHUB_API_URL"] + path,
        data=None if body is None else json.dumps({"body": body}).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {given('token')}",
            "Content-Type": "application/json",
        },
        method=method,
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.load(reply)


if __name__ == "__main__":
    try:
        sys.exit({"install": install, "run": run, "comment": comment}[sys.argv[1]]())
    except subprocess.CalledProcessError as error:
        sys.exit(f"::error::gigamind: the base branch cannot be read: {error}")
