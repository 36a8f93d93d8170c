"""Compare a whole evaluation of the same answers by gigamind, ragas and inspect_ai: calls, tokens, CPU per answer.

    python benchmarks/answers.py              # ragas and inspect_ai of benchmarks/requirements.txt

One scripted server on loopback replies at once.  No side gets the human labels.  gigamind judges claim by claim with
quotes; ragas measures faithfulness and factual correctness; inspect_ai grades with `model_graded_qa`.  They ask
different questions, so this compares costs, not quality.  CPU per answer is the slope between few and all answers,
which excludes the start.  The server counts tokens.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unicodedata import normalize

from llm_peers import QUIET
from llm_server import stats
from opponents import python

from gigamind.vault.notes import Vault

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
FEW, RUNS = 4, 5
COUNTED = ("total", "prompt_tokens", "completion_tokens")
SERVER = """
import sys, time
sys.path[:0] = ["tests/support", "examples"]
from scripted_judges import CREDULOUS, read_labelled_answers
from faulty_model import running
known = read_labelled_answers(None, None).answers

def respond(body):
    prompt = str(body["messages"][-1]["content"])
    about = next((one for one in known if one.case.question in prompt), None)
    ours = "response_format" in body and about is not None and not body["model"].startswith("by-schema")
    return CREDULOUS.respond(about, body["response_format"], prompt) if ours else None

with running() as server:
    server.respond = respond
    print(server.url, flush=True)
    time.sleep(10**6)
"""


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(json.dumps(measured(), indent=1))


def measured() -> dict[str, dict[str, float] | str]:
    lines = (EXAMPLES / "answers.jsonl").read_text("utf-8").splitlines()
    rows = [{**json.loads(line), "labels": None} for line in lines]
    figures: dict[str, dict[str, float] | str] = {}
    with TemporaryDirectory() as place, scripted() as url:
        folder = Path(place)
        notes = {note.path: note.text for note in Vault.read(EXAMPLES / "vault").notes}
        for name, count in (("few", FEW), ("all", len(rows))):
            ours = "".join(json.dumps(row) + "\n" for row in rows[:count])
            (folder / f"{name}.jsonl").write_text(ours, "utf-8")
            given_rows = [with_notes(row, notes) for row in rows[:count]]
            (folder / f"{name}.json").write_text(json.dumps(given_rows), "utf-8")
        for side in ("gigamind", "ragas", "inspect_ai"):
            try:
                figures[side] = costs(side, url, folder, len(rows))
            except subprocess.SubprocessError as error:
                stderr = getattr(error, "stderr", None) or b""
                figures[side] = f"{error} {stderr.decode(errors='replace')[-500:]}"
    return figures


def with_notes(row: dict[str, Any], notes: dict[str, str]) -> dict[str, object]:
    """Return what the opponents need of a row: question, answer and the text of its notes."""
    texts = [
        note["text"] if "text" in note else notes[normalize("NFC", note["path"])]
        for note in row["context_notes"]
    ]
    return {"question": row["question"], "answer": row["answer"], "notes": texts}


def costs(side: str, url: str, folder: Path, answers: int) -> dict[str, float]:
    slopes: list[float] = []
    whole: list[float] = []
    seen: dict[str, int] = {}
    for run in range(RUNS):
        few = cpu_of(side, url, folder / "few.jsonl", folder / f"{side}-{run}-few")
        before = stats(url)
        whole.append(cpu_of(side, url, folder / "all.jsonl", folder / f"{side}-{run}-all"))
        after = stats(url)
        seen = {name: after[name] - before[name] for name in COUNTED}
        slopes.append(1000 * (whole[-1] - few) / (answers - FEW))
    return {
        "answers": answers,
        "calls": seen["total"] / answers,
        "prompt_tokens": seen["prompt_tokens"] / answers,
        "completion_tokens": seen["completion_tokens"] / answers,
        "cpu_ms_an_answer": statistics.median(slopes),
        "cpu_s_whole": statistics.median(whole),
    }


def cpu_of(side: str, url: str, dataset: Path, out: Path) -> float:
    """Return the CPU seconds of a process that evaluates these answers, including its start."""
    if side == "gigamind":
        command = [sys.executable, "-m", "gigamind", "eval", "answers", "--dataset", str(dataset)]
        command += ["--notes", str(EXAMPLES / "vault"), "--model", "openai/script", "--quiet"]
        command += ["--api-base", url, "--store-mode", "off", "--out", str(out)]
        command += ["--max-in-flight", "16", "--model-timeout-s", "60"]
        environment = {**os.environ, **QUIET}
    else:
        script = Path(__file__).with_name("peers") / f"answers_with_{side}.py"
        command = [str(python(side)), str(script), url, str(dataset.with_suffix(".json")), str(out)]
        environment = {n: v for n, v in (os.environ | QUIET).items() if n != "PYTHONPATH"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def scripted() -> Generator[str]:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as run:
        try:
            yield run.stdout.readline().strip()
        finally:
            run.terminate()


if __name__ == "__main__":
    main()
