"""Evaluations inside a running event loop, as in notebooks and web services."""

import asyncio
import inspect
import json
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest
from answer_reply import ANSWER, PROOF, answer_reply, supported
from fastapi import FastAPI
from faulty_model import running
from linked_notes import write_linked_notes

import gigamind
from gigamind.evaluation.shards import is_resumable
from gigamind.event_loop import async_twin, run_async, stop_if_cancelled

EXAMPLES = Path(__file__).parents[1] / "examples"
QUERIES, VAULT = EXAMPLES / "queries.jsonl", EXAMPLES / "vault"
FEW = {"mode": "keyword", "sample": "8", "speed_passes": 0}


@pytest.fixture
def dataset(tmp_path, monkeypatch, examples_cache):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(examples_cache))
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(ANSWER) + "\n", "utf-8")
    return path


@pytest.fixture(autouse=True)
def attentive(monkeypatch):
    """Work looks often whether it is to stop."""
    monkeypatch.setattr("gigamind.event_loop._LOOK_S", 0.05)


def test_ctrl_c_cancels_the_work_in_a_running_loop():
    ended, begun = [], threading.Event()

    async def work():
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    def interrupt(main):
        begun.wait(20)
        signal.pthread_kill(main, signal.SIGINT)

    async def cell():
        threading.Thread(target=interrupt, args=[threading.main_thread().ident]).start()
        run_async(work())

    start = time.monotonic()
    loop = asyncio.new_event_loop()  # asyncio.run would handle the signal itself
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
    finally:
        loop.close()
    assert ended == [True]
    assert time.monotonic() - start < 30


def test_context_variables_reach_the_work():
    from contextvars import ContextVar

    name = ContextVar("name", default="")

    async def work():
        return name.get()

    async def cell():
        name.set("here")
        return run_async(work())

    assert asyncio.run(cell()) == "here"


def evaluations(dataset, server):
    """Each evaluating function of the library, and its figure, by the name of the function."""
    home = dataset.parent
    write_linked_notes(home / "unlinked", home / "links.jsonl")
    paid = {"model": "openai/judge", "api_base": server.url, "store_mode": "off"}
    return {
        "evaluate_search": (
            (QUERIES, VAULT),
            FEW | {"unanswerable_mode": "llm", "sample": "2"} | paid,
            lambda result: result.summary.overall.search["mrr"],
        ),
        "evaluate_links": (
            (home / "links.jsonl", home / "unlinked"),
            {"topk": 3, "semantic": False},
            lambda result: result.summary.overall.links["recall_at_3"],
        ),
        "evaluate_answers": (
            (dataset,),
            paid,
            lambda result: result.summary.overall.answers["correctness"],
        ),
        "tune_search": (
            (QUERIES, VAULT),
            FEW | {"modes": ["keyword"], "sample": "40"},
            lambda tuning: len(tuning.settings),
        ),
    }


NAMES = ["evaluate_search", "evaluate_links", "evaluate_answers", "tune_search"]


def test_every_evaluating_function_has_an_async_twin_with_its_arguments():
    assert {name for name in gigamind.__all__ if name.startswith(("evaluate_", "tune_"))} == {
        *NAMES
    }
    for name in NAMES:
        function, twin = getattr(gigamind, name), getattr(gigamind, f"a{name}")
        assert inspect.iscoroutinefunction(twin)
        assert inspect.signature(twin) == inspect.signature(function)


@pytest.mark.parametrize("name", NAMES)
def test_each_gives_one_result_in_a_loop_in_threads_and_awaited(dataset, name):
    with running() as server:
        server.respond = lambda _body: (
            answer_reply([supported(PROOF)], PROOF)
            if name == "evaluate_answers"
            else {"answer": "x", "sources": [], "answered": False, "confidence": "high"}
        )
        args, options, figure = evaluations(dataset, server)[name]
        outs = (dataset.parent / f"run-{number}" for number in range(9))

        def given():
            return options if name == "tune_search" else options | {"out": next(outs)}

        async def cell():
            function, twin = getattr(gigamind, name), getattr(gigamind, f"a{name}")
            here = [function(*args, **given()) for _ in range(2)]
            both = [asyncio.to_thread(function, *args, **given()), twin(*args, **given())]
            return [*here, *await asyncio.gather(*both)]

        results = asyncio.run(cell())
    assert len({figure(result) for result in results}) == 1
    assert not list(dataset.parent.glob("*.unfinished"))


def test_a_cancelled_twin_keeps_the_paid_replies_and_is_resumed(dataset):
    rows = [json.dumps(ANSWER | {"id": f"a{number}"}) for number in range(4)]
    dataset.write_text("\n".join(rows), "utf-8")
    out, replied, cancelled = dataset.parent / "run", threading.Event(), threading.Event()
    given = {"model": "openai/judge", "store_mode": "off", "max_in_flight": 1}
    asked = []

    def respond(_body):
        asked.append(1)
        if len(asked) == 3 and not replied.is_set():  # two are paid for, the third does not end
            replied.set()
            cancelled.wait(20)
        return answer_reply([supported(PROOF)], PROOF)

    with running() as server:
        server.respond = respond
        given["api_base"] = server.url

        async def cell():
            work = asyncio.create_task(gigamind.aevaluate_answers(dataset, out=out, **given))
            await asyncio.to_thread(replied.wait, 60)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work

        start = time.monotonic()
        asyncio.run(cell())
        assert time.monotonic() - start < 15
        cancelled.set()
        assert is_resumable(out)
        rows = (out / "per_item.jsonl").read_text("utf-8").splitlines()
        assert sum(json.loads(row)["evaluation"] is not None for row in rows) == 2
        before = len(asked)
        result = asyncio.run(gigamind.aevaluate_answers(dataset, resume=out, out=out, **given))
    assert (len(result.items), len(asked) - before) == (4, 2)


def test_a_cancelled_twin_ends_a_search_that_uses_no_model(tmp_path):
    searched = threading.Event()

    class Slow:
        def search(self, _query):
            searched.set()
            time.sleep(0.2)
            return gigamind.Ranking(())

        def close(self):
            pass

    async def cell():
        given = {"system": Slow(), "out": tmp_path / "run", "max_concurrency": 1, "warmup": 0}
        work = asyncio.create_task(gigamind.aevaluate_search(QUERIES, **given))
        await asyncio.to_thread(searched.wait, 30)
        await asyncio.sleep(0.3)
        work.cancel()
        await asyncio.wait([work])
        return work.cancelled()

    start = time.monotonic()
    assert asyncio.run(cell())
    assert time.monotonic() - start < 20  # all queries would take 40 s
    assert 0 < len((tmp_path / "run" / "per_item.jsonl").read_text("utf-8").splitlines()) < 100


def test_a_twin_takes_arguments_and_errors_of_its_function():
    @async_twin
    def add(first, *, second):
        stop_if_cancelled()
        return first + second

    assert asyncio.run(add(1, second=2)) == 3
    with pytest.raises(TypeError):
        asyncio.run(add(1, second=""))


def failing(tmp_path):
    class Broken:
        def search(self, _query):
            raise RuntimeError("no index")

        def close(self):
            pass

    closed = {"api_base": "http://127.0.0.1:9", "model_timeout_s": 2}
    search = {"function": gigamind.evaluate_search, "dataset": QUERIES, "notes": VAULT}
    answers = {"function": gigamind.evaluate_answers, "dataset": tmp_path / "answers.jsonl"}
    return {
        "no key": answers | {"model": "openai/judge"},
        "no provider": answers | {"model": "nowhere/judge"},
        "no judge": answers | {"judge": "nothing", "model": "openai/judge"},
        "no answering model": answers
        | {"dataset": QUERIES, "notes": VAULT, "answer_model": "openai/x", "judge": "words"},
        "no baseline": answers | {"judge": "words", "compare": tmp_path / "nothing"},
        "no key to search": search | FEW | {"unanswerable_mode": "llm", "model": "openai/judge"},
        "no index": search | {"notes": None, "system": Broken()},
        "no server": answers | {"model": "openai/judge"} | closed,
    }


@pytest.mark.usefixtures("waits")
@pytest.mark.parametrize("case", failing(Path()))
def test_after_a_failed_start_the_next_cell_runs(dataset, monkeypatch, case):
    if case != "no server":
        monkeypatch.delenv("OPENAI_API_KEY")
    home = dataset.parent
    start = failing(home)[case]
    function, out = start.pop("function"), home / "run"

    async def cell(**given):
        return function(**given, out=out)

    with pytest.raises(gigamind.GigamindError):
        asyncio.run(cell(**start))
    if case != "no server":  # which a resumed run may find running
        assert {path.name for path in home.iterdir()} <= {"answers.jsonl", "cache"}
    answers = gigamind.evaluate_answers(dataset, judge="words", out=out)
    assert len(answers.items) == 1
    assert not (home / "run.unfinished").exists()


def test_a_web_service_evaluates_and_answers_other_requests_meanwhile(dataset):
    app, ended = FastAPI(), []

    @app.get("/mrr")
    async def mrr():
        result = await gigamind.aevaluate_search(QUERIES, VAULT, **FEW)
        ended.append("mrr")
        return result.summary.overall.search["mrr"]

    @app.get("/words")
    async def words():  # blocks the loop, but works
        result = gigamind.evaluate_answers(dataset, judge="words", out=dataset.parent / "words")
        return len(result.items)

    @app.get("/ping")
    async def ping():
        ended.append("ping")

    async def requests():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            slow = asyncio.create_task(client.get("/mrr"))
            await asyncio.sleep(0.05)
            await client.get("/ping")
            return (await slow).json(), (await client.get("/words")).json()

    figure, items = asyncio.run(requests())
    assert (0 < figure < 1, items) == (True, 1)
    assert ended == ["ping", "mrr"]
