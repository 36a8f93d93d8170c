"""No key stands in anything that a run leaves or says, whatever the servers say back.

Everything below the run's folder is read byte by byte: results, caches, stores, home and temporary files.
"""

import base64
import json
import os
from pathlib import Path
from urllib.parse import quote

import forked
import pytest
from answer_reply import answer_reply, supported
from search_servers import search_server

from gigamind.judges.unanswerable_llm import UnanswerableReply

# Where each is planted -> what it is.
SECRETS = {
    "OPENAI_API_KEY": "planted-key/of+the=provider",
    "TEAM_JUDGE": "planted-in-a-variable-without-a-telling-name",
    "SEARCH_TOKEN": "planted-token-of-the-search",
    "AWS_SECRET_ACCESS_KEY": "planted-but-never-asked-for",
    "address of the model": "planted-password-1",
    "address of the system": "planted-password-2",
    "query of the address": "planted-query-word",
    "header in the system file": "planted-literal-header",
    ".env": "planted-in-dot-env",
}
VAULT = {"leave.md": "Leave is 15 days a year.\n", "휴가.md": "연차는 15일이다.\n"}
QUERIES = [
    {"id": "a", "query": "leave days", "answerable": True, "expected_notes": ["leave.md"]},
    {"id": "b", "query": "zebra", "answerable": False, "expected_notes": []},
    {"id": "c", "query": "refused", "answerable": True, "expected_notes": ["leave.md"]},
]
QUERIES += [QUERIES[0] | {"id": f"more {n}", "query": f"leave {n}"} for n in range(6)]
QUESTIONS = [{"id": row["id"], "question": row["query"]} for row in QUERIES]


def forms(secret: str) -> set[bytes]:
    """As it is, and as addresses, JSON and HTTP write it."""
    texts = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}
    coded = base64.b64encode(f"me:{secret}".encode()).decode()
    return {text.encode() for text in (*texts, coded)}


def leaks(root: Path, said: str, planted: set[Path]) -> list[str]:
    """Each file, or "said", with what stands in it."""
    files = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    contents = [(str(path), text) for path, text in files.items() if path not in planted]
    return [
        f"{name}: {where}"
        for where, content in [*contents, ("said", said.encode())]
        for name, secret in SECRETS.items()
        if any(
            form in content or form.decode().encode("utf-16-le") in content
            for form in forms(secret)
        )
    ]


@pytest.fixture
def work(tmp_path):
    """A working folder with home and temporary files of its own."""
    for name in ("vault", "home", "tmp"):
        (tmp_path / name).mkdir()
    for name, text in VAULT.items():
        (tmp_path / "vault" / name).write_text(text, "utf-8")
    for name, rows in (("queries", QUERIES), ("questions", QUESTIONS)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={SECRETS['.env']}\n")
    (tmp_path / "ours.toml").write_text(
        "body = '{\"id\": {{ id | tojson }}}'\n"
        f'headers = {{ X-Auth = "$SEARCH_TOKEN", X-Own = "{SECRETS["header in the system file"]}" }}\n'
    )
    return tmp_path


@pytest.fixture
def run(work, server):
    """A command with all of them at their places, on a model server and a system; what it said, and its exit code."""

    def run(*arguments, respond, model="openai/judge"):
        environment = {
            **{name: value for name, value in os.environ.items() if "API_KEY" not in name},
            **{name: value for name, value in SECRETS.items() if name.isupper()},
            "HOME": str(work / "home"),
            "TMPDIR": str(work / "tmp"),
            "GIGAMIND_CACHE_DIR": str(work / "cache"),
        }
        for variable in ("HTTP_PROXY", "http_proxy", "XDG_CACHE_HOME"):
            environment.pop(variable, None)
        with search_server(respond) as system:
            own = system.url.replace("//", f"//me:{SECRETS['address of the system']}@")
            ended = forked.command(
                work,
                *arguments,
                *("--system", f"{own}/ask?key={SECRETS['query of the address']}"),
                *("--system-config", "ours.toml", "--notes", "vault", "--out", "out"),
                *("--model", model, "--key-variable", "TEAM_JUDGE", "--store", "store"),
                *(
                    "--api-base",
                    server.url.replace("//", f"//me:{SECRETS['address of the model']}@"),
                ),
                *("--max-in-flight", "2", "--model-timeout-s", "20", "--save-snapshot"),
                environment=environment,
            ).completed()
        assert system.asked[0].headers["x-auth"] == SECRETS["SEARCH_TOKEN"]
        assert system.asked[0].headers["x-own"] == SECRETS["header in the system file"]
        return ended

    return run


def echo(asked):
    """What a careless server says of a request that it refuses."""
    sent = [asked.headers[name] for name in ("x-own", "x-auth", "authorization")]
    return 400, f"you sent {' '.join(sent)} {asked.params}"  # the beginning is shown


def found(work, ended):
    planted = {work / ".env", work / "ours.toml"}
    return leaks(work, ended.stdout + ended.stderr, planted)


def test_no_key_is_left_by_a_search_that_a_model_judges(work, run, server):
    said = UnanswerableReply(answered=False, answer="", sources=(), confidence=0.8)
    server.respond = lambda _: said.model_dump(mode="json")

    def respond(asked):
        hits = [{"note": "leave.md", "score": 0.5, "text": "Leave is 15 days a year."}]
        return echo(asked) if asked.body["id"] == "c" else (200, {"hits": hits})

    search = ("eval", "search", "--dataset", "queries.jsonl", "--unanswerable-mode", "llm")
    ended = run(*search, "--speed-passes", "1", respond=respond)
    assert ended.returncode == 0, ended.stderr
    assert server.seen.total > 0
    assert "you sent" in (work / "out" / "errors.jsonl").read_text("utf-8")
    assert found(work, ended) == []


def test_no_key_is_left_by_answers_that_a_model_judges(work, run, server):
    server.respond = lambda _: answer_reply([supported("Leave is 15 days a year.")])

    def respond(asked):
        reply = {"answer": "Leave is 15 days a year.", "contexts": [{"note": "leave.md"}]}
        return echo(asked) if asked.body["id"] == "c" else (200, reply)

    ended = run("eval", "answers", "--dataset", "questions.jsonl", respond=respond)
    assert ended.returncode == 0, ended.stderr
    assert server.seen.total > 0
    assert found(work, ended) == []


def test_no_key_is_said_where_a_model_says_back_what_it_was_sent(work, run):
    reply = {"answer": "Leave is 15 days.", "contexts": [{"note": "leave.md"}]}
    answers = ("eval", "answers", "--dataset", "questions.jsonl", "--lang", "en")
    ended = run(*answers, respond=lambda _: (200, reply), model="openai/judge;fault=echo")
    assert ended.returncode == 3
    assert found(work, ended) == []


def test_a_key_that_is_left_is_found(work):
    planted = work / "ours.toml"
    (work / "cache").mkdir()
    (work / "cache" / "x.bin").write_bytes(b"\0" + SECRETS["SEARCH_TOKEN"].encode() + b"\0")
    found = leaks(work, SECRETS["OPENAI_API_KEY"], {planted, work / ".env"})
    assert found == [f"SEARCH_TOKEN: {work / 'cache' / 'x.bin'}", "OPENAI_API_KEY: said"]
