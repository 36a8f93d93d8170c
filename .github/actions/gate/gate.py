"""The steps of the action: `install` gigamind, `run` an evaluation, `comment` on the pull request.

Inputs are variables GATE_*, never parts of a script, so that no branch name or path is run as one.  What the comment
says is gigamind's own (`--comment`); here it gets the marker by which the next run finds it, and a link to this one.
"""

import json
import os
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

PACKAGE = "gigamind-eval"
OPTIONS = ("dataset", "notes", "compare", "phase", "gates", "lang")
A_PAGE = 100
SIGNALLED = 128


def given(name: str) -> str:
    """An input; "" where it was left out."""
    return os.environ.get(f"GATE_{name.upper()}", "").strip()


def temporary() -> Path:
    """Where environment, comment and results stand."""
    return Path(os.environ["RUNNER_TEMP"]) / "gigamind-gate"


def install() -> int:
    """Into an environment of its own, from this checkout or the version that is asked for."""
    extras = f"[{given('extras')}]" if given("extras") else ""
    version = given("version")
    checkout = Path(__file__).resolve().parents[3]
    wanted = f"{PACKAGE}{extras}=={version}" if version else f"{checkout}{extras}"
    folder = temporary() / "venv"
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    return subprocess.run([*pip, "--disable-pip-version-check", wanted], check=False).returncode


def run() -> int:
    """Evaluate, and leave with gigamind's exit code; the outputs and the comment stand whatever it is."""
    task = given("task")
    name = given("name") or task
    folder = temporary() / name.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    out = Path(given("out") or folder / "out")
    comment, junit = folder / "comment.md", folder / "junit.xml"
    for file in (comment, junit):  # of an earlier gate of this name
        file.unlink(missing_ok=True)
    compared = out / "compare.json"
    stale = compared.exists()
    options = [part for key in OPTIONS if given(key) for part in (f"--{key}", given(key))]
    if given("compare"):
        options.append("--fail-on-regression")
    files = ["--out", out, "--comment", comment, "--junit", junit]
    gigamind = temporary() / "venv" / "bin" / "gigamind"
    command = [gigamind, "eval", task, *options, *files, *shlex.split(given("options"))]
    code = subprocess.run(command, check=False).returncode
    code = code if code >= 0 else SIGNALLED - code
    if (
        not comment.exists()
    ):  # options that cannot be, or a crash; the log says which, and may say too much for here
        comment.write_text(f"### ❌ `gigamind eval {task}` · exit code {code}\n\n", "utf-8")
        append("GITHUB_STEP_SUMMARY", comment.read_text("utf-8"))
    comment.write_text(f"{marker(name)}\n{comment.read_text('utf-8')}{source()}\n", "utf-8")
    outputs = {
        "verdict": "error" if stale else verdict(compared, code),
        "exit-code": code,
        "out": out,
        "comment": comment,
        "junit": junit,
    }
    append("GITHUB_OUTPUT", "".join(f"{key}={value}\n" for key, value in outputs.items()))
    return code


def marker(name: str) -> str:
    """What the comment of a gate begins with, unseen."""
    return f"<!-- gigamind gate: {name.replace('>', '')} -->"


def source() -> str:
    """The commit and the run that a comment is of."""
    on = os.environ
    head = pull_request().get("head", {}).get("sha") or on["GITHUB_SHA"]
    run_of = (
        f"{on['GITHUB_SERVER_URL']}/{on['GITHUB_REPOSITORY']}/actions/runs/{on['GITHUB_RUN_ID']}"
    )
    return f"{head[:12]} · [{on['GITHUB_WORKFLOW']} #{on['GITHUB_RUN_NUMBER']}]({run_of})"


def verdict(compared: Path, code: int) -> str:
    """That of the gates; "measured" where nothing was compared, "error" where there is no result."""
    if code in {0, 1, 4} and compared.exists():
        return json.loads(compared.read_text("utf-8"))["gate"]["verdict"]
    return "error" if code else "measured"


def append(variable: str, text: str) -> None:
    """Write to the file that GitHub names by a variable."""
    with Path(os.environ[variable]).open("a", encoding="utf-8") as file:
        file.write(text)


def comment() -> int:
    """Write the comment anew where it stands already.  That it cannot be written fails no gate."""
    number = pull_request().get("number")
    if number is None:
        print("No comment: this is no run of a pull request.")
        return 0
    body = Path(given("comment")).read_text("utf-8")
    issues = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    try:
        old = standing(f"{issues}/{number}/comments", body.partition("\n")[0])
        if old is None:
            ask("POST", f"{issues}/{number}/comments", body)
        else:
            ask("PATCH", f"{issues}/comments/{old}", body)
    except urllib.error.URLError as error:  # of a fork the token may read only
        print(f"::warning::gigamind: the comment could not be written ({error})")
    return 0


def pull_request() -> dict[str, Any]:
    """What GitHub tells of it; nothing in a run that is of none."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    return event.get("pull_request", {})


def standing(path: str, marked: str) -> int | None:
    """The id of the comment of an earlier run; one that a person wrote is none."""
    for one in comments(path):
        if one["user"]["type"] == "Bot" and one["body"].partition("\n")[0].strip() == marked:
            return one["id"]
    return None


def comments(path: str) -> Iterator[dict[str, Any]]:
    """All of a pull request, page by page."""
    page = 1
    while found := ask("GET", f"{path}?per_page={A_PAGE}&page={page}"):
        yield from found
        if len(found) < A_PAGE:
            return
        page += 1


def ask(method: Literal["GET", "POST", "PATCH"], path: str, body: str | None = None) -> Any:  # noqa: ANN401  JSON
    """One request to GitHub's API.

    Raises:
        URLError: it cannot be reached, or refuses.
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
    sys.exit({"install": install, "run": run, "comment": comment}[sys.argv[1]]())
