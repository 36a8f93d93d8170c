"""The service as a process: it starts by one command, and its end takes nothing from those who read."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import fake_model
from forked import command
from loopback import free_ports
from sse import events
from vault_files import write_files

from gigamind.cli.serve import _listening
from gigamind.tasks.answers import NO_NOTES


def test_sigterm_lets_streams_end_and_takes_no_more_questions(model, tmp_path):
    notes = {
        "휴가.md": "연차는 입사 첫해에 15일을 준다.",
        "garden.md": "The garden has roses.",
        "parking.md": "Cars stand behind the depot.",
        "invoices.md": "Invoices are paid on Mondays.",
    }
    write_files(tmp_path / "vault", notes)
    port, _other = free_ports()
    process = command(
        tmp_path,
        *("serve", "--notes", "vault", "--mode", "keyword", "--cache-dir", "cache"),
        *("--model", "openai/chat;piece=50", "--judge-model", "openai/judge"),
        *("--api-base", model.url, "--port", port),
    )
    try:
        url = f"http://127.0.0.1:{port}"
        until_ready(url)
        body = json.dumps({"content": "연차는 며칠?"}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/api/ai/stream", body, headers=headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read1().decode()
            while "chunk" not in text:
                text += answer.read1().decode()
            process.send_signal(signal.SIGTERM)
            text += answer.read().decode()
        found = events(text)
        assert found[-1][0] == "qa_evaluation"
        assert found[-1][1]["correctness"] == 1.0
        assert process.wait(20) in {0, 143, -signal.SIGTERM}
    finally:
        process.kill()
        process.wait()


def test_a_script_that_started_it_in_the_background_can_end_it(tmp_path):
    (tmp_path / "note.md").write_text("Cars stand behind the depot.", encoding="utf-8")
    port, _other = free_ports()
    served = ("serve", "--notes", tmp_path, "--model", "openai/chat", "--mode", "keyword")
    nobody = ("--api-base", "http://127.0.0.1:9/v1", "--port", port)
    process = command(tmp_path, *served, *nobody, "--cache-dir", tmp_path / "cache", ignoring=True)
    try:
        until_ready(f"http://127.0.0.1:{port}")
        process.send_signal(signal.SIGTERM)
        line, _, rest = process.communicate(timeout=60)[1].partition("\n")
        assert len(rest.strip().splitlines()) == 1
        assert re.search(rf"{tmp_path} .*http://127\.0\.0\.1:{port}$", line)
        assert process.returncode == 143
    finally:
        process.kill()


def test_small_pieces_of_a_stream_are_sent_at_once():
    with _listening("127.0.0.1", 0) as (place, _url):
        assert place.proto == socket.IPPROTO_TCP  # only then asyncio sets TCP_NODELAY


def until_ready(url):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    raise AssertionError("the service did not start")


def test_the_mock_model_in_another_process_quotes_a_note_or_abstains(tmp_path):
    fact = "The depot opens at seven in the morning."
    others = ("The garden has roses.", "Cars stand behind it.", "Invoices are paid on Mondays.")
    write_files(tmp_path / "vault", {f"{at}.md": one for at, one in enumerate((fact, *others))})
    environment = {**os.environ, "GIGAMIND_CACHE_DIR": str(tmp_path / "cache")}
    service, _other = free_ports()
    serve = ("serve", "--notes", "vault", "--mode", "keyword", "--port", service)
    started = [sys.executable, fake_model.__file__, "--port", "0"]
    model = subprocess.Popen(started, stdout=subprocess.PIPE, text=True)
    processes = [model]
    try:
        url = re.search(r"http://\S+/v1", model.stdout.readline())[0]
        asked = ("--model", "openai/any", "--api-base", url)
        processes.append(command(tmp_path, *serve, *asked, environment=environment))
        until_ready(f"http://127.0.0.1:{service}")
        answered = streamed(service, "When does the depot open in the morning?")
        abstained = streamed(service, "Who repairs the photocopier upstairs?")
        whole = json.loads(posted(service, "chat", "When does the depot open in the morning?"))
        with urllib.request.urlopen(f"http://127.0.0.1:{service}/api/config") as config:
            assert whole["scripted"] is json.load(config)["scripted"] is True
        model.send_signal(signal.SIGINT)
        assert model.wait(20) == 0
        assert url in model.stdout.read()  # in the command to copy
    finally:
        for process in processes:
            process.kill()
            process.wait(20)
        model.stdout.close()

    for found in (answered, abstained):
        assert dict(found[:1])["metadata"]["scripted"] is True
    assert fact.rstrip(".") in text_of(answered)
    assert len(answered) > 5  # its text comes in chunks
    evaluation = dict(answered)["qa_evaluation"]
    assert (evaluation["confidence"], evaluation["correctness"]) == ("high", 1.0)
    assert text_of(abstained) == NO_NOTES


def text_of(found):
    return "".join(data["chunk"] for name, data in found if not name and data != "[DONE]")


def posted(port, way, question):
    """The answer of the service, whole or in a stream."""
    headers = {"Content-Type": "application/json"}
    body = json.dumps({"content": question}).encode()
    address = f"http://127.0.0.1:{port}/api/ai/{way}"
    request = urllib.request.Request(address, body, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def streamed(port, question):
    """The events of an answer by the service."""
    return events(posted(port, "stream", question))
