import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from answer_reply import aside
from second_looks import is_second_look, looks

from gigamind.assurance.liars import HONEST, LabelledAnswer, read_labelled_answers
from gigamind.judges.search_qa.reply import ClaimFinding
from gigamind.judges.search_qa.segments.claims import Claim, comparable

ROOT = Path(__file__).parents[2]
START_SECONDS = 120


@dataclass(frozen=True)
class Stack:
    """A server and a worker as `make server` and `make worker` start them, from a clone of its own."""

    clone: Path
    home: Path
    port: int

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the user's own Prefect; a request that leaves this machine ends at a closed port."""
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(self.home),
            "PREFECT_HOME": str(self.home / ".prefect"),
            "PREFECT_SERVER_API_PORT": str(self.port),
            # The scheduler looks every minute for schedules that were added since the deploy.
            "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "3",
            "PREFECT_WORKER_QUERY_SECONDS": "3",
            "GIGAMIND_CACHE_DIR": str(self.home / "cache"),
            "OMP_NUM_THREADS": "1",
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def command(self, target: str) -> list[str]:
        """`make target` with the packages of this Python, which are there already."""
        return ["make", "-o", ".venv/.ready", f"BIN={Path(sys.executable).parent}", target]

    def make(self, target: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(target),
            cwd=self.clone,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )

    @contextlib.contextmanager
    def running(self, target: str) -> Iterator[subprocess.Popen[bytes]]:
        """`make target` until the block ends."""
        with (self.home / f"{target}.log").open("wb") as log:
            process = subprocess.Popen(
                self.command(target),
                cwd=self.clone,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            _stop(process)

    def ask(self, path: str, body: object = None) -> Any:
        """What the API answers: a GET, or a POST where there is a body.

        A server on SQLite answers 503 while its database is locked, and Prefect's own client then asks again: so do we.

        Raises:
            urllib.error.HTTPError: it refuses.
        """
        for wait in (1, 2, 4, 8):
            try:
                return self._ask_once(path, body)
            except urllib.error.HTTPError as error:
                if error.code != 503:
                    raise
                time.sleep(wait)
        return self._ask_once(path, body)

    def _ask_once(self, path: str, body: object) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or "null")

    def wait_for(self, found: Callable[[], Any], seconds: float, what: str) -> Any:
        """The first true value of `found`; fails with the logs when the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if value := found():
                    return value
            except urllib.error.HTTPError:
                raise  # an answer, and no server that is not yet there
            except OSError:
                pass
            time.sleep(0.25)
        logs = "\n".join(f"{log.name}:\n{log.read_text()}" for log in self.home.glob("*.log"))
        pytest.fail(f"not within {seconds} s: {what}\n{logs}")

    def deployment(self) -> Any:
        return self.ask("/deployments/name/eval-search/search-nightly")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server and a worker on loopback, with the deployments of the repository."""
    # Any clone will do, also one in a folder with such a name.
    clone = tmp_path_factory.mktemp("clone") / "우리 clone"
    for folder in ("deployments", "examples", "flows"):
        shutil.copytree(ROOT / folder, clone / folder)
    shutil.copy(ROOT / "Makefile", clone)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    stack = Stack(clone, tmp_path_factory.mktemp("home"), port)
    try:
        with stack.running("server") as server:
            stack.wait_for(
                lambda: server.poll() is None and stack.ask("/health"), START_SECONDS, "a server"
            )
            with stack.running("worker"):
                deployed = stack.make("deploy")
                assert deployed.returncode == 0, deployed.stdout + deployed.stderr
                yield stack
    finally:
        _kill_leftovers(stack.home)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and its group, gently at first: a worker then ends the flow runs it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _kill_leftovers(home: Path) -> None:
    """End flow runs that have outlived a killed worker: they live in sessions of their own."""
    marker = f"HOME={home}".encode()
    for entry in Path("/proc").glob("[0-9]*"):  # without /proc, there is nothing more to be done
        with contextlib.suppress(OSError):
            if marker in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)


@dataclass(frozen=True)
class LabelledAnswers:
    """The example answers, and judges of them that are scripted from what people said."""

    rows: tuple[dict[str, Any], ...]
    folder: Path

    def run(self, name: str, replies: list[dict[str, Any]], *options: str) -> Path:
        """The out folder of `gigamind eval answers` on them, over HTTP; the replies are given in turn."""
        from gigamind.cli.main import main
        from gigamind.llm.fake import running

        examples, out = ROOT / "examples", self.folder / name
        paths = ("--dataset", examples / "answers.jsonl", "--notes", examples / "vault")
        kept = ("--store-mode", "off", "--cache-dir", self.folder / "cache", "--out", out)
        looks_asked = Counter[str]()
        true = {
            comparable(one["text"])
            for row in self.rows
            for one in row["labels"]["claims"]
            if one["verdict"] == "supported"
        }

        def respond(body: dict[str, Any]) -> dict[str, Any] | None:
            """Second looks, as people labelled the claims."""
            text = str(body["messages"][-1]["content"])
            if not is_second_look(text):
                return None
            looks_asked["all"] += 1
            return looks(text, lambda statement: comparable(statement) in true)

        with running() as server:
            server.script.extend(replies)
            server.respond = respond
            model = ("--model", "openai/judge", "--api-base", server.url, "--max-in-flight", 1)
            with pytest.raises(SystemExit) as ended:
                main(["eval", "answers", *map(str, (*paths, *model, *kept)), *options])
        assert not ended.value.code
        assert server.seen.total - looks_asked.total() == len(replies)
        return out

    def honest(self) -> list[dict[str, Any]]:
        """Each claim as people labelled it, quotes included."""
        return self._replies(HONEST.finding)

    def forging(self, forge: Callable[[dict[str, Any]], str]) -> list[dict[str, Any]]:
        """Every claim is said to be supported; a quote is forged where people found none that supports it."""

        def forged(answer: LabelledAnswer, sentence: Claim) -> ClaimFinding:
            honest, label = HONEST.finding(answer, sentence), answer.told.get(sentence.id)
            if label is None or label.verdict == "supported":
                return honest
            lie = {"verdict": "supported", "note": label.note or 1}
            return honest.model_copy(update=lie | {"quote": forge(label.model_dump())})

        return self._replies(forged)

    def hiding(self, role: str) -> list[dict[str, Any]]:
        """Every claim is said to be no claim, and to be backed by no note."""

        def hidden(answer: LabelledAnswer, sentence: Claim) -> ClaimFinding:
            if sentence.id not in answer.told:
                return HONEST.finding(answer, sentence)
            return ClaimFinding.model_validate(aside(role, sentence.piece.text, sentence.id))

        return self._replies(hidden)

    @staticmethod
    def _replies(
        finding: Callable[[LabelledAnswer, Claim], ClaimFinding],
    ) -> list[dict[str, Any]]:
        """What a judge says that is honest but for what it finds."""
        liar = replace(HONEST, finding=finding)
        answers = read_labelled_answers(None, None).answers
        return [liar.reply(answer).model_dump(mode="json") for answer in answers]

    def checks(self) -> list[dict[str, Any]]:
        """A checklist's reply for each answer: what its labels say of directness, grounds, sources and doubt."""
        return [{"items": [self._checked(row, name) for name in CHECKS]} for row in self.rows]

    def words_of(self, row: dict[str, Any], check: str) -> str:
        """The words that show that an item of the checklist is fulfilled; "" where it is not."""
        labels, answer = row["labels"], row["answer"]
        quotes = [one["quote"] for one in labels["claims"] if one["verdict"] == "supported"]
        found = {
            "direct": answer if labels["utility"] >= 0.5 else "",
            "grounded": quotes[0] if quotes else "",
            "sources": next((word for word in ("[노트 1]", "[Note 1]") if word in answer), ""),
            "uncertainty": answer if labels["abstains"] else "",
        }
        return found[check]

    def _checked(self, row: dict[str, Any], check: str) -> dict[str, Any]:
        words = self.words_of(row, check)
        return {"id": check, "yes": bool(words), "quote": words}


CHECKS = ("direct", "grounded", "sources", "uncertainty")


@pytest.fixture(scope="module")
def labelled_answers(tmp_path_factory):
    """The forty example answers with judges that say what people said."""
    text = (ROOT / "examples" / "answers.jsonl").read_text("utf-8")
    rows = tuple(json.loads(line) for line in text.splitlines())
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPENAI_API_KEY", raising=False)
        yield LabelledAnswers(rows, tmp_path_factory.mktemp("answers"))
