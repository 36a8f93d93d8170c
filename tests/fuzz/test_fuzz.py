"""Whatever stands in a file, a reply or a request: it is read, or refused in a line; see fuzzing/targets.py.

A few inputs of each target, the same ones each time; `make fuzz` tries as many as minutes allow.
"""

import re
from pathlib import Path

import hypothesis
import pytest
from fuzzing import trying
from fuzzing.inputs import inputs
from fuzzing.targets import TARGETS, Target
from fuzzing.trying import attempt
from hypothesis import HealthCheck, Phase
from time_limit import TooSlowError

EXAMPLES = 8


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_read_is_read_or_refused(name):
    @hypothesis.settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(inputs(TARGETS[name].seeds))
    def each(content):
        attempt(name, content)

    for seed in TARGETS[name].seeds:
        attempt(name, seed)
    each()


_JSON = b"POST /api/ai/chat\nHost: localhost\nContent-Type: application/json\n\n"
BROKE = [
    ("toml", b"a = " + b"[" * 3_000),
    ("toml", b"[search]\ntopk = " + b"9" * 5_000),
    ("toml", b"[search]\nnotes = 2\n"),
    ("toml", b'[search]\nnotes = "\\u0000"\n'),
    ("toml", b"[models.x]\nprompt = 1e999999999999\ncompletion = 1\n"),
    ("toml", b"[models.x]\nprompt = 1e" + b"9" * 400),
    ("note", b'---\ntitle: "a\n\r\rb"\n---\n'),
    ("snapshot", b"[" * 100_000),
    ("run-file", b"q1 Q0 a" + b" " * 60_000 + b"b"),
    ("imports", b"q1 0 a" + b" " * 60_000 + b"b"),
    ("imports", b"q1 0 d " + b"9" * 5_000),
    ("imports", b"9" * 5_000),
    ("reply", b'{"a": ' * 3_000),
    ("reply", b'{"a": ' + b"9" * 5_000 + b"}"),
    ("model", b"text/event-stream\ndata: 5\n\n"),
    ("model", b'text/event-stream\ndata: {"choices": [{"delta": {"content": 5}}]}\n\n'),
    ("model", b"text/event-stream\ndata: " + b"x" * 1_000_000 + b"\n\n"),
    ("model", b"application/json\n" + b"[" * 100_000),
    ("model", b"application/json\n" + b"\n" * 40),
    ("http", b"POST /api/ai/chat\nHost: [\n\n{}"),
    ("http", _JSON.replace(b"Content", b"Origin: http://[\nContent") + b"{}"),
    ("http", _JSON + b'{"content": "\\ud800"}'),
    ("http", _JSON + b'{"content": "a", "options": {"context_notes": NaN}}'),
]
"""What once raised another error than the package's own, answered with status 500, or told of it in many lines."""


@pytest.mark.each(
    "pattern, odd",
    [
        # Its first figure in a slice, where summaries are not read number by number.
        (rb'("by_language": .*?"mrr": )[0-9.]+', rb"\g<1>1e999"),
        (rb"ndcg_at_1", b"ndcg_at_:"),
        (rb'("low": )[0-9.]+', rb"\g<1>1e999"),
    ],
)
def test_a_snapshot_with_an_odd_figure_is_read_or_refused(pattern, odd):
    odd_snapshot, times = re.subn(pattern, odd, TARGETS["snapshot"].seeds[0], count=1)
    assert times == 1
    attempt("snapshot", odd_snapshot)


@pytest.mark.each("name, content", BROKE)
def test_what_once_broke_a_target_no_longer_does(name, content):
    try:
        attempt(name, content)
    except Exception as error:
        raise AssertionError(repr(error)) from error


def test_what_fuzzing_found_no_longer_breaks_a_target():
    for path in sorted((Path(__file__).parent / "found").glob("*/*")):
        attempt(path.parent.name, path.read_bytes())


def test_a_target_that_breaks_its_promise_is_told_from_one_that_keeps_it(monkeypatch):
    def loops(_):
        while True:
            pass

    monkeypatch.setattr(trying, "SECONDS", 0.1)
    monkeypatch.setitem(trying.TARGETS, "loops", Target("loops", loops))
    monkeypatch.setitem(trying.TARGETS, "raises", Target("raises", lambda _: 1 / 0))
    with pytest.raises(TooSlowError):
        attempt("loops", b"")
    with pytest.raises(ZeroDivisionError):
        attempt("raises", b"")
