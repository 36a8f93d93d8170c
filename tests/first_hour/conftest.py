"""A folder as a new user has it after some minutes: notes, questions, three runs, and much that is not right."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from called import Ended, call
from loopback import Answering, listening
from row_files import as_lines
from vault_files import write_files

NOTES = {
    "deploy.md": "# Deploy\n\nThe deploy runs every Friday, as [[garden]] says.\n",
    "휴가.md": "# 휴가\n\n휴가는 팀장에게 신청한다. [[deploy]] 전날은 피한다.\n",
    "garden.md": "# Garden\n\nThe garden has roses.\n",
}
ROW = {"id": "a", "query": "deploy", "answerable": True, "expected_notes": ["deploy.md"]}
ROWS: list[dict[str, object]] = [
    ROW,
    {"id": "b", "query": "휴가 신청", "answerable": True, "expected_notes": ["휴가.md"]},
    {"id": "c", "query": "zebra", "answerable": False, "expected_notes": []},
]
ANSWER = {"id": "a", "question": "When?", "answer": "Friday.", "context_notes": [{"path": "a.md"}]}


FILES: dict[str, str | bytes] = {
    "queries.jsonl": as_lines(ROWS),
    "other.jsonl": as_lines([{**ROW, "id": "z"}]),
    "answers.jsonl": as_lines([ANSWER]),
    "questions.csv": "id,query\na,deploy\n",
    "array.json": json.dumps(ROWS),
    "pretty.json": json.dumps(ROWS, indent=2),
    "empty.jsonl": "",
    "utf16.jsonl": as_lines(ROWS).encode("utf-16"),
    "cp949.jsonl": as_lines([ROWS[1]]).encode("cp949"),
    "cut.jsonl": '{"id": "d", "query": \n',
    "no-field.jsonl": as_lines([{name: ROW[name] for name in ROW if name != "query"}]),
    "no-list.jsonl": as_lines([{**ROW, "expected_notes": "deploy.md"}]),
    "typo.jsonl": as_lines([{**ROW, "expected_notes": ["deply.md"]}]),
    "twice.jsonl": as_lines([ROW, ROW]),
    "unsure.jsonl": as_lines([{**ROW, "expected_notes": []}]),
    "two-columns.run": "a deploy.md\n",
    "foreign.run": "zz Q0 deploy.md 1 1.0 mine\n",
    "broken.toml": "[search\n",
    "typo.toml": "[search]\ntopkk = 3\n",
    "text.toml": "[search]\ntopk = 'ten'\n",
    "judge.toml": 'kind = "threshhold"\n',
    "cut-judge.toml": "kind =\n",
    "gates.toml": "[phases.mvp]\n",
    "prices.toml": "x = 1\n",
    "system.toml": 'url = "http://127.0.0.1"\n',
    "labels.txt": "relevant\n",
    "labels.jsonl": as_lines([{"id": "zz", "note": "deploy.md", "gain": 1}]),
    "quotes.jsonl": '{"quot": "x"}\n',
    "talk.jsonl": as_lines([{"role": "user", "content": "Hello."}]),
    "set.txt": "question\n",
    "set.json": "{}",
    "set.csv": "id,query\na,deploy\n",
    "full/file.txt": "x",
    "no-notes/file.txt": "x",
}


class NoSearch(Answering):
    """A web site, which is no search: one page, and nothing else."""

    def do_GET(self) -> None:
        self.body()
        if self.path == "/page":
            self.answer(200, b"<html>Welcome</html>", "text/html")
        else:
            self.answer(404, b"Not Found", "text/plain")

    do_POST = do_GET  # noqa: N815


@pytest.fixture(scope="module")
def gigamind() -> Callable[..., Ended]:
    """Runs a command."""
    return call


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    """One at which a web site listens, and one at which nobody does."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        closed = free.getsockname()[1]
    with listening(NoSearch) as server:
        yield {"taken": server.server_port, "closed": closed}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder; commands are called in it, without keys and without an answering Prefect server."""
    folder = tmp_path_factory.mktemp("place")
    write_files(folder, FILES)
    write_files(folder / "vault", NOTES)
    (folder / "nothing").mkdir()
    with pytest.MonkeyPatch.context() as environment:
        environment.chdir(folder)
        environment.setenv("GIGAMIND_CACHE_DIR", str(folder / "cache"))
        for name in [name for name in os.environ if name.endswith("_API_KEY")]:
            environment.delenv(name)
        search = "eval search --notes vault --mode keyword --speed-passes 0 --quiet"
        commands = (
            f"{search} --dataset queries.jsonl --out run",
            f"{search} --dataset other.jsonl --out other-run",
            "eval generate-links --notes vault --out-notes bare --dataset links.jsonl",
            "eval links --dataset links.jsonl --notes bare --no-semantic --out links-run",
        )
        made = [call(*command.split()) for command in commands]
        assert [ended.code for ended in made] == [0] * len(made), made
        yield folder
