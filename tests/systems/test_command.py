"""A search as a process: real ones, that answer, die, hang, and say nonsense."""

import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from gigamind.errors import InputError, SystemFailedError
from gigamind.interop.ranking import RankedNote
from gigamind.systems.dialect import rankings
from gigamind.systems.open import open_system
from gigamind.systems.protocol import Query
from gigamind.systems.settings import SystemOptions

ANSWERS = """\
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    word = asked["query"]
    if word == "die":
        sys.exit("no index: token=abc")
    if word == "hang":
        import time; time.sleep(60)
    if word == "nonsense":
        print("here you are", flush=True)
    elif word == "other":
        print(json.dumps({"id": "q-9", "hits": []}), flush=True)
    elif word == "pid":
        print(json.dumps([str(os.getpid())]), flush=True)
    else:
        hits = [{"note": "휴가.md", "score": 0.5}, {"note": f"top{asked['topk']}.md"}]
        print(json.dumps({"id": asked["id"], "hits": hits}), flush=True)
"""


def opened(command, topk=1, timeout_s=10.0):
    options = SystemOptions(f"command:{command}", None, int(1000 * timeout_s))
    return open_system(options, rankings(topk))


@pytest.fixture
def command(tmp_path: Path):
    script = tmp_path / "my search.py"
    script.write_text(ANSWERS, encoding="utf-8")
    started = []

    def start(timeout_s=10.0, *more):
        words = shlex.join([sys.executable, str(script), *more])
        started.append(opened(words, 3, timeout_s))
        return started[-1]

    yield start
    for retriever in started:
        retriever.close()


def ask(retriever, text, name="q-1"):
    return retriever.ask(Query(name, text)).hits


def test_a_process_is_asked_a_line_and_answers_a_line(command):
    hits = (RankedNote("휴가.md", 0.5), RankedNote("top3.md"))
    retriever = command()
    assert ask(retriever, "휴가") == hits
    assert ask(retriever, "two\nlines") == hits


def test_one_process_answers_all_queries(command):
    retriever = command()
    assert ask(retriever, "pid") == ask(retriever, "pid")


def test_one_that_dies_is_told_with_its_last_words_and_is_started_again(command):
    retriever = command()
    with pytest.raises(SystemFailedError, match=r"exit code 1.*no index"):
        ask(retriever, "die")
    assert ask(retriever, "roses")


def test_one_that_dies_three_times_in_a_row_is_not_asked_any_more(command):
    retriever = command()
    for _ in range(3):
        with pytest.raises(SystemFailedError, match="exit code 1"):
            ask(retriever, "die")
    with pytest.raises(SystemFailedError, match="3"):
        ask(retriever, "roses")


def test_one_that_hangs_is_killed_and_the_next_query_gets_its_own_answer(command):
    retriever = command(1.0)
    assert ask(retriever, "warm")
    start = time.perf_counter()
    with pytest.raises(SystemFailedError, match=" 1 "):
        ask(retriever, "hang")
    assert time.perf_counter() - start < 10
    assert ask(retriever, "pid") != ask(retriever, "roses")


@pytest.mark.parametrize(("said", "message"), [("nonsense", "Expecting value"), ("other", "q-9")])
def test_a_line_that_is_no_ranking_of_the_query_fails_it(command, said, message):
    with pytest.raises(SystemFailedError) as refusal:
        ask(command(), said)
    assert message in str(refusal.value)


def test_a_line_that_nobody_asked_for_fails_the_query_that_it_might_be_taken_for(tmp_path):
    script = tmp_path / "talks.sh"
    script.write_text('while read line; do echo "[]"; echo "[\\"late.md\\"]"; done\n', "utf-8")
    retriever = opened(f"sh {script}")
    try:
        assert ask(retriever, "first") == ()
        time.sleep(0.5)
        with pytest.raises(SystemFailedError, match=r'\["late\.md"\]$'):
            ask(retriever, "second")
    finally:
        retriever.close()


def test_its_whole_group_is_killed_at_the_end(tmp_path):
    script = tmp_path / "parent.sh"
    script.write_text('sleep 300 &\nread line\necho "[\\"$!\\"]"\nwait\n', encoding="utf-8")
    retriever = opened(f"sh {script}")
    [hit] = ask(retriever, "x")
    child = int(hit.note)
    os.kill(child, 0)
    retriever.close()
    for _ in range(100):
        state = _state(child)
        if state in {"", "Z"}:
            return
        time.sleep(0.05)
    pytest.fail("the child of the command outlives it")


def _state(process: int) -> str:
    """Of a process, one letter; "" where there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def test_a_program_that_is_not_there_and_a_line_without_its_quote_are_refused():
    with pytest.raises(InputError, match=r"--system command: /no/such"):
        opened("/no/such")
    with pytest.raises(InputError, match="--system command: python 'my"):
        opened("python 'my")
