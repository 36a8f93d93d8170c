"""What is tried: a function of bytes for each thing that reads what others wrote.

Each ends in a value or in an error of the package that says what is wrong, and in time; no other error leaves it.  What
was read is held to what it promises: it has its place in the source, or is the same once it was written and read again.
"""

import asyncio
import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from http.client import HTTPException
from pathlib import Path
from typing import Any

import click
from linked_notes import NOTES, ROWS
from sse import events

from fuzzing.servers import asked, model_that_says
from gigamind.assets import asset
from gigamind.cli.config import check_config, read_config
from gigamind.cli.main import cli
from gigamind.datasets import jsonl
from gigamind.datasets.labels import AnswerLabel, read_labels
from gigamind.errors import GigamindError, InputError, LlmError
from gigamind.evidence.align import align
from gigamind.evidence.result import Aligned
from gigamind.interop.column_map import read_columns
from gigamind.interop.ranking import Ranking, read_run_file
from gigamind.interop.squad import read_squad
from gigamind.interop.trec import read_trec, trec_run
from gigamind.judges.load import load_any_judge
from gigamind.judges.unanswerable_llm import UnanswerableReply
from gigamind.library import evaluate_search
from gigamind.llm.ask import LanguageModel, _cut_off, _own_object
from gigamind.llm.ledger import read_prices
from gigamind.llm.settings import ModelSettings
from gigamind.memory.sessions import Extraction, Session
from gigamind.release.compare import compare
from gigamind.release.model import read_run, read_snapshot
from gigamind.release.policy import Policy
from gigamind.service.answering import _sent_event
from gigamind.systems.dialect import ANSWERS, _AnswerPreset, _Preset, rankings
from gigamind.systems.protocol import settle
from gigamind.tasks import KINDS
from gigamind.vault.identity import Found, Identities
from gigamind.vault.markdown import Document
from gigamind.vault.notes import Vault

_MOST_LINES = 11  # of a message: where a file has several problems, the first ten stand in it
_stack = ExitStack()


@dataclass(frozen=True)
class Target:
    """One thing that reads.

    Attributes:
        read: raises what breaks a promise.
        given, made: what it should read without complaint, or nearly.
    """

    name: str
    read: Callable[[bytes], None]
    given: tuple[bytes, ...] = ()
    made: Callable[[], tuple[bytes, ...]] = tuple

    @cached_property
    def seeds(self) -> tuple[bytes, ...]:
        """Those that stand here, and those that take time to make."""
        return (*self.given, *self.made())


@contextmanager
def refusing(kind: type[GigamindError] = InputError):
    """What it may raise; the message is short and says something."""
    try:
        yield
    except kind as error:
        told = str(error)
        assert told.strip(), "an error without a word"
        assert len(told.split("\n")) <= _MOST_LINES, f"a message of many lines: {told[:500]!r}"


@cache
def _folder() -> Path:
    return Path(_stack.enter_context(tempfile.TemporaryDirectory(prefix="fuzz-")))


def _file(content: bytes, name: str) -> Path:
    path = _folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def dataset(content: bytes) -> None:
    path = _file(content, "dataset.jsonl")
    with refusing():
        jsonl.dataset_kind(path)
    for read in (jsonl.read_queries, jsonl.read_links, jsonl.read_questions, jsonl.read_answers):
        with refusing():
            found = read(path)
            assert len(found.lines) == len(found.items)
            again = _file(
                "".join(item.json_line() + "\n" for item in found.items).encode(), "again"
            )
            if found.items:
                assert read(again).items == found.items


def labels(content: bytes) -> None:
    with refusing():
        found = read_labels(_file(content, "labels.jsonl"), AnswerLabel)
        assert all(0 <= value <= 1 for row in found.values.values() for value in row.values())


def note(content: bytes) -> None:
    """Markdown, links and frontmatter of a note, as its vault has them."""
    folder = _file(content, "vault/note.md").parent
    vault = Vault.read(folder)
    (found,) = vault.notes
    document = Document.parse(found.text)
    spans = [link.span for link in document.links] + [link.text_span for link in document.links]
    spans += [block.span for block in document.blocks] + [one.span for one in document.headings]
    spans += document.running
    assert all(0 <= span.start <= span.end <= len(found.text) for span in spans)
    identities = Identities(vault.notes)
    for link in document.links:
        identities.resolve_link(link, found.path)
    identities.collisions()
    assert identities.resolve(found.path) is not None
    for told in (found.title, *found.aliases, *found.tags, *document.warnings):
        assert len(told.splitlines()) <= 1


def quote(content: bytes) -> None:
    """A quote, a form feed, and the source that it may stand in."""
    text, _, source = _text(content).partition("\f")
    for wanted in (text, source[len(source) // 3 : len(source) // 2 + 1]):
        found = align(wanted, source)
        if isinstance(found, Aligned):
            assert 0 <= found.span.start < found.span.end <= len(source)
            assert 0 < found.confidence <= 1
            if found.method == "exact":
                assert source[found.span.start : found.span.end] == wanted
        else:
            refused = found.reason in {"empty_quote", "quote_too_long"}
            assert refused or wanted not in source or not (wanted + source).isascii()


def run_file(content: bytes) -> None:
    with refusing():
        found = read_run_file(_file(content, "run"))
        for ranking in found.responses.values():
            settle(ranking, 10, lambda _: None)
        told = {name: [hit.note for hit in one.hits] for name, one in found.responses.items()}
        again = read_run_file(_file(trec_run(told, "tag").encode(), "again"))
        assert sum(map(len, told.values())) == sum(
            len(one.hits) for one in again.responses.values()
        )
    with refusing():
        ANSWERS.read_run(_file(content, "answers"))


def imports(content: bytes) -> None:
    """Files of other tools, each as what it may be."""
    with refusing():
        read_trec(_file(content, "qrels"), None).files()
    with refusing():
        read_trec(_file(b"q1 0 d1 1\n", "qrels"), _file(content, "topics")).files()
    with refusing():
        read_squad(_file(content, "squad.json")).files()
    for suffix in ("csv", "json", "jsonl", "parquet"):
        for chosen in ({}, {"expected": "expected"}):
            with refusing():
                read_columns(_file(content, f"set.{suffix}"), chosen).files()


def snapshot(content: bytes) -> None:
    with refusing():
        found = read_snapshot(_file(content, "snapshot.json"), KINDS)
        again = read_snapshot(_file(found.file_text().encode(), "again.json"), KINDS)
        assert again.model_dump() == found.model_dump()
        compare(found, found)
        if found.task == "search":
            compare(_before(), found)
            compare(found, _before())


@cache
def _before() -> Any:
    return read_snapshot(_file(_snapshots()[0], "before.json"), KINDS)


def out_folder(content: bytes) -> None:
    """A folder of results of which one file is strange."""
    for name in _run():
        folder = _folder() / "out"
        for other, text in _run().items():
            _file(content if other == name else text, f"out/{other}")
        with refusing():
            read_run(folder, KINDS)


def toml(content: bytes) -> None:
    """Options, gates, prices, judges and systems."""
    path = _file(content, "gigamind.toml")
    with refusing():
        config = read_config(path)
        with click.Context(cli) as context:
            check_config(config, context)
    with refusing():
        Policy.read(path)
    with refusing():
        read_prices(path)
    with refusing():
        load_any_judge(path)
    with refusing():
        _Preset.load(str(path))
    with refusing():
        _AnswerPreset.load(str(path))


def system_reply(content: bytes) -> None:
    """What a search or RAG system answers over HTTP, and what a command writes."""
    for text in (content, b"[" + content + b"]"):
        try:
            told = json.loads(text)
        except (ValueError, RecursionError):
            continue
        for read in (*_presets(), rankings(10).read, ANSWERS.read):
            try:
                found = read(told)
            except ValueError:
                continue
            if isinstance(found, Ranking):
                settled = settle(found, 10, lambda name: Found(name) if name else None)
                assert len({hit.note for hit in settled.hits}) == len(settled.hits) <= 10
            str(found).encode()


def model(content: bytes) -> None:
    """What a server says to a request: an answer of a shape, or a stream; its first line is the type of the rest."""
    url = model_that_says(content)
    settings = ModelSettings("openai/m", api_base=url, attempts=1, timeout_s=10.0, reasks=0)
    pieces: list[str] = []

    async def on_text(text: str) -> None:
        pieces.append(text)

    async def ask() -> None:
        asking = LanguageModel(settings)
        try:
            with refusing(LlmError):
                assert await asking.tell(_ASKED, on_text, item_id="q") == "".join(pieces)
            with refusing(LlmError):
                await asking.ask(_ASKED, UnanswerableReply, item_id="q")
        finally:
            await asking.close()

    asyncio.run(ask())


def reply(content: bytes) -> None:
    """The object of a reply is one that stands in it."""
    text = _text(content)
    _cut_off(text)
    found = _own_object(text, _ASKED)
    assert found is None or (found in text and isinstance(json.loads(found), dict))


def session(content: bytes) -> None:
    """A conversation, and what was extracted from one."""
    with refusing():
        Session.parse("s", list(enumerate(_text(content).splitlines(), start=1)), "session.jsonl")
    with refusing():
        Extraction.parse(_text(content), "session.extracted.json")


def event(content: bytes) -> None:
    """Any text is the same behind the stream of our service."""
    text = _text(content)
    sent = _sent_event("quality", {"chunk": text}).decode()
    assert events(sent) == [("quality", {"chunk": text})]


def http(content: bytes) -> None:
    """A request to the service: method and path, headers, an empty line, the body."""
    head, _, body = content.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, path = first.decode("latin-1").partition(" ")
    headers = [line.partition(b":")[::2] for line in lines if b":" in line]
    named = [(name.decode("latin-1"), value.strip()) for name, value in headers]
    try:
        status, answer = asked(method, path, named, body)
    except (ValueError, HTTPException, ConnectionError):
        return  # no client sends that, or the server ends the connection
    assert status < 500, (status, answer[:500])


_ROOT = Path(__file__).parents[3]
_GOLDEN = _ROOT / "tests/data/golden"
_ASKED = [{"role": "user", "content": 'A note says {"answered": true}. What now?'}]


def _lines(path: Path, count: int) -> bytes:
    return b"".join(path.read_bytes().splitlines(keepends=True)[:count])


@cache
def _run() -> dict[str, bytes]:
    """The files of a small run."""
    out = _folder() / "small run"
    evaluate_search(
        _GOLDEN / "queries.jsonl",
        _GOLDEN / "vault",
        out=out,
        mode="keyword",
        sample="3",
        speed_passes=0,
        warmup=0,
        cache_dir=_folder() / "cache",
    )
    names = ("run.json", "summary.json", "per_item.jsonl", "errors.jsonl")
    return {name: (out / name).read_bytes() for name in names}


def _preset_files() -> list[Path]:
    return sorted(asset("systems").rglob("*.toml"))


@cache
def _presets() -> tuple[Callable[[object], Any], ...]:
    read = []
    for path in _preset_files():
        kind = _AnswerPreset if path.parent.name == "answers" else _Preset
        read.append(kind.load(str(path))[0].read)
    return tuple(read)


def _small(text: bytes) -> bytes:
    """A snapshot of two items, without its checksum, which would refuse every change."""
    whole = json.loads(text)
    whole["items"] = whole["items"][:2]
    return json.dumps({key: value for key, value in whole.items() if key != "checksum"}).encode()


@cache
def _snapshots() -> tuple[bytes, bytes]:
    """Of search and of links."""
    _run()
    search = read_snapshot(_folder() / "small run", KINDS).file_text().encode()
    return _small(search), _small((_GOLDEN / "links/snapshot.json").read_bytes())


_OPTIONS = b"""# of a team
[search]
dataset = "queries.jsonl"
notes = "vault"
exclude = ["drafts/"]
topk = 2

[memory.graduate]
log = "events.sqlite"
"""
_PRICES = b'[models."openai/x"]\nprompt = 0.15\ncompletion = 0.6\ncached = 0.075\n'
_NOTE = """---
title: "휴가: 규정"
aliases: [leave, 연차]
tags: [hr]
---
# Leave

연차는 [[b|15일]], see [the rest](c%20d.md#part) and ![[img.png|100]]. `code` %%hidden [[x]]%%

| a | b |
|---|---|
| [[a\\|b]] | $x$ |

> - [ ] *one*[^1]

[^1]: note
<div>[[no]]</div>
"""
_CHUNK = b'data: {"model":"m","choices":[{"delta":{"content":"a b"},"finish_reason":null}]}\n\n'
_LAST = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n'
_VERDICT = b'{"answered": false, "answer": "", "sources": [], "confidence": 0.8}'
_COMPLETION = json.dumps({
    "model": "m",
    "choices": [{"message": {"content": _VERDICT.decode()}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1}},
}).encode()  # fmt: skip
_ASK = json.dumps({
    "feature": "search_qa",
    "content": "When?",
    "options": {"context_notes": ["At seven."], "note_titles": ["T"], "lang": "en"},
    "quality_gate_enabled": True,
}).encode()  # fmt: skip
_SQUAD = json.dumps({
    "data": [{"title": "T", "paragraphs": [{"context": "It says seven.", "qas": [
        {"id": "1", "question": "What?", "answers": [{"text": "seven", "answer_start": 8}]},
        {"id": "2", "question": "Who?", "is_impossible": True, "answers": []},
    ]}]}],
}).encode()  # fmt: skip
_RAGAS = json.dumps(
    [{"user_input": "q", "response": "a", "retrieved_contexts": ["c", "d"], "reference": "r"}]
).encode()
_EXTRACTED = json.dumps({
    "entries": [{"entryId": "e", "text": "a", "evidence": [{"messageIndex": 0, "quote": "We ship"}]}]
}).encode()  # fmt: skip
_HITS = {
    "hits": [
        {"note": "a.md", "score": 0.5, "text": "t", "start": 0, "end": 1},
        "b.md",
        ["c.md", 0.1],
    ]
}
_ANSWER = {"answer": "a", "contexts": ["text", {"note": "a.md", "text": "t"}]}
_HEAD = b"Host: localhost\nOrigin: http://localhost\nContent-Type: application/json\n\n"

TARGETS = {
    target.name: target
    for target in (
        Target(
            "dataset",
            dataset,
            (
                _lines(_ROOT / "examples/queries.jsonl", 2),
                _lines(_ROOT / "examples/answers.jsonl", 1),
                "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS).encode(),
                b'{"id":"a","query":"b","answerable":true,"expected_notes":[],"gains":{"n":2}}',
            ),
        ),
        Target("labels", labels, (b'{"id": "a", "utility": 0.5}\n{"id": "b", "correctness": 1}',)),
        Target("note", note, (_NOTE.encode(), *(text.encode() for text in NOTES.values()))),
        Target(
            "quote",
            quote,
            (
                "연차 15일\f휴가는 연차 15일, **반차** 0.5일.".encode(),
                b"the fourth floor ... a quiet room\fThe *fourth* floor (in May) is a\nquiet room.",
                b"- one\n- two\f> - one\n> - two\n| a | b |",
            ),
        ),
        Target(
            "run-file",
            run_file,
            (
                b"q1 Q0 a.md 1 0.9 tag\nq1 Q0 b c.md 2 0.5 tag\n",
                b'{"id": "q1", "hits": ["a.md", ["b.md", 0.5], {"note": "c.md", "score": 1, "start": 0, "end": 2}]}',
                b'{"id": "q1", "answer": "a", "contexts": ["t", {"note": "a.md", "text": "t"}]}',
            ),
        ),
        Target(
            "imports",
            imports,
            (
                b"q1 0 a.md 1\nq1 0 b 0\n",
                b"<top><num>Number: q1 <title>What? </top>",
                b"q1\tWhat?\n",
                b'{"_id": "q1", "text": "What?"}\n',
                _SQUAD,
                _RAGAS,
                b"user_input,response,retrieved_contexts\nq,a,\"['c', 'd']\"\n",
                b"input,actual_output,retrieval_context\nq,a,c|d\n",
            ),
        ),
        Target("snapshot", snapshot, made=_snapshots),
        Target("out-folder", out_folder, made=lambda: tuple(_run().values())),
        Target(
            "toml",
            toml,
            (
                _OPTIONS,
                _PRICES,
                (asset("deployments") / "gates.toml").read_bytes(),
                *(path.read_bytes() for path in sorted(asset("judges").glob("*.toml"))),
                *(path.read_bytes() for path in _preset_files()),
            ),
        ),
        Target(
            "system-reply",
            system_reply,
            (
                json.dumps(_HITS).encode(),
                json.dumps(_ANSWER).encode(),
                b'{"hits": {"hits": [{"_id": "a", "_score": 1.5, "_source": {"text": "t"}}]}}',
            ),
        ),
        Target(
            "model",
            model,
            (
                b"text/event-stream\n" + _CHUNK * 2 + _LAST + b"data: [DONE]\n\n",
                b"application/json\n" + _COMPLETION,
                b'application/json\n{"error": {"message": "no", "code": "x"}}',
            ),
        ),
        Target(
            "reply",
            reply,
            (_VERDICT, b"<think>hm {</think>```json\n" + _VERDICT + b"\n```", b"Well: " + _VERDICT),
        ),
        Target(
            "session",
            session,
            (b'{"role": "user", "content": "We ship on Monday."}\n', _EXTRACTED),
        ),
        Target("event", event, ("a\n\ndata: [DONE]\n\u2028가😀".encode(),)),
        Target(
            "http",
            http,
            (
                b"POST /api/ai/chat\n" + _HEAD + _ASK,
                b"POST /api/ai/stream\n" + _HEAD + _ASK,
                b"GET /api/search?q=roses&limit=3\n" + _HEAD,
                b"GET /api/notes/garden.md\n" + _HEAD,
                b"GET /api/notes/..%2f..%2fetc/passwd\n" + _HEAD,
                b"POST /api/feedback\n" + _HEAD + b'{"answer_id": "a", "kind": "claim", "claim_id": 1, "good": true}',
            ),
        ),
    )
}  # fmt: skip
