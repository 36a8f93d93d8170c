"""Evaluations inside a running event loop, as in notebooks and web services."""

import asyncio
import json
import signal
import threading
import time

import pytest
from answer_reply import ANSWER, PROOF, answer_reply, supported
from faulty_model import running

import gigamind
from gigamind.event_loop import run_async


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(ANSWER) + "\n", "utf-8")
    return path


def judged(dataset, server, name):
    return gigamind.evaluate_answers(
        dataset,
        out=dataset.parent / name,
        model="openai/judge",
        api_base=server.url,
        model_timeout_s=20,
        max_in_flight=1,
        store_mode="off",
    )


def test_answers_are_judged_in_a_running_loop_twice_and_in_a_thread(dataset):
    with running() as server:
        server.respond = lambda _body: answer_reply([supported(PROOF)], PROOF)

        async def cell():
            here = [judged(dataset, server, name) for name in ("one", "two")]
            return [*here, await asyncio.to_thread(judged, dataset, server, "three")]

        results = asyncio.run(cell())
    found = [result.summary.overall.answers["correctness"] for result in results]
    assert found == [1.0, 1.0, 1.0]
    assert not list(dataset.parent.glob("*.unfinished"))


def test_answers_are_judged_by_words_in_a_running_loop(dataset):
    async def cell():
        return gigamind.evaluate_answers(dataset, judge="words", out=dataset.parent / "words")

    assert asyncio.run(cell()).summary.overall.answers["correctness"] is not None


def test_ctrl_c_cancels_the_work_in_a_running_loop():
    ended = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def cell():
        main = threading.main_thread().ident
        threading.Timer(0.3, signal.pthread_kill, [main, signal.SIGINT]).start()
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
