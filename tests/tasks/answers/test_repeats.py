"""A system is asked each question several times, and all its answers to a question are one cluster."""

import io
import json
import os
import re
import signal
import time
from collections import Counter

import pytest
from five_answers import FAILING, FORGED, GOOD, PASSING
from out_files import items_of, rows_of
from rich.console import Console
from search_servers import search_server

from gigamind.errors import InputError
from gigamind.evaluation.progress import Quiet
from gigamind.evaluation.shards import unfinished_folder
from gigamind.i18n import translator
from gigamind.release.compare import compare
from gigamind.release.model import read_run, read_snapshot
from gigamind.reports.terminal import show
from gigamind.tasks import KINDS, TASKS, evaluate
from gigamind.tasks.answers.judging import AnswerEvaluation
from gigamind.tasks.answers.prepare import prepare_answers

RIGHT, WRONG = "연차는 입사 첫해에 15일을 준다.", "연차는 입사 첫해에 20일을 준다."
NAMES = [f"q{number}" for number in range(1, 9)]
WORDS = {"judge": "words", "model": None}


def questions(names=NAMES):
    return [{"id": name, "question": f"연차는 며칠? ({name})", "language": "ko"} for name in names]


@pytest.fixture
def answering():
    """A server that gives its answers to a question in order, from the first again after the last."""

    def serve(answers):
        given = Counter()

        def respond(asked):
            name = asked.body["id"]
            own = answers(name)
            given[name] += 1
            answer = own[(given[name] - 1) % len(own)]
            answer = answer() if callable(answer) else answer
            return 200, {"answer": answer, "contexts": ["휴가.md"]}

        return search_server(respond)

    return serve


@pytest.fixture
def run(options):
    def make(rag, repeats, names=NAMES, **changes):
        given = {"system": rag.url, "repeats": repeats, "save_snapshot": True, **WORDS}
        return options(items=questions(names), **given | changes)

    return make


@pytest.fixture
def evaluated(run, answering):
    """A finished run over a system that gives these answers to a question."""

    def done(answers, repeats, names=NAMES, **changes):
        with answering(answers) as rag:
            return evaluate(run(rag, repeats, names, max_concurrency=1, **changes))

    return done


def test_each_question_has_its_answers_with_ids_of_their_own(run, answering):
    with answering(lambda _name: [RIGHT, WRONG, RIGHT]) as rag:
        done = evaluate(run(rag, 3, NAMES[:2], max_concurrency=1))
        assert Counter(one.body["id"] for one in rag.asked) == {"q1": 3, "q2": 3}
    rows = rows_of(done.out, "per_item.jsonl")
    assert [row["id"] for row in rows] == ["q1", "q1@2", "q1@3", "q2", "q2@2", "q2@3"]
    assert [row.get("repeat") for row in rows[:3]] == [None, 2, 3]
    assert [row["metrics"]["correctness"] for row in rows] == [1.0, 0.0, 1.0] * 2
    assert done.summary.counts.answers_total == 6
    assert done.summary.overall.answers["correctness"] == pytest.approx(2 / 3)
    assert done.summary.overall.intervals["answers.correctness"].n == 2


def test_one_answer_leaves_no_trace_of_repeats(evaluated):
    done = evaluated(lambda _name: [RIGHT], 1, NAMES[:2])
    for name in ("run.json", "summary.json", "snapshot.json", "per_item.jsonl"):
        text = (done.out / name).read_text("utf-8")
        assert not re.search('"(repeats?|variance|answered_share)"', text)


def test_equal_answers_do_not_narrow_the_interval_and_show_that_only_questions_differ(
    run, answering
):
    def by_name(name):
        return [RIGHT if int(name[1:]) % 2 else WRONG]

    with answering(by_name) as rag:
        once, often = evaluate(run(rag, 1)), evaluate(run(rag, 3))
    assert once.summary.overall.answers == often.summary.overall.answers
    assert once.summary.overall.intervals == often.summary.overall.intervals
    assert once.summary.variance == {}
    found = often.summary.variance["correctness"]
    assert (found.system, found.judge, found.items, found.scores) == (0.0, 0.0, 8, 24)
    assert found.item == pytest.approx(8 * 0.25 / 7)
    assert found.more_repeats == 0.0


def test_answers_that_vary_within_each_question_are_the_variance_of_the_system(evaluated):
    done = evaluated(lambda _name: [RIGHT, WRONG], 2)
    found = done.summary.variance["correctness"]
    assert (found.item, found.system, found.judge) == (0.0, 0.5, None)
    assert found.more_repeats == pytest.approx(1 - 0.5**0.5)
    page, text = ((done.out / name).read_text("utf-8") for name in ("report.html", "summary.md"))
    assert 'id="repeats"' in page
    assert "0.707" in text
    shown = io.StringIO()
    say = translator("ko")
    show(done.page, Console(file=shown), say)
    assert "0.707" in shown.getvalue()
    assert "29.3%" in shown.getvalue()


def test_runs_are_compared_by_question_whatever_their_repeats(evaluated):
    """The first is always right, the second refuses once, and each other is wrong half of the time."""
    often = {"q1": [RIGHT], "q2": [RIGHT, RIGHT, RIGHT, "노트에는 관련 정보가 없습니다."]}
    before = evaluated(lambda _name: [RIGHT], 1, system_name="rag")
    after = evaluated(lambda name: often.get(name, [RIGHT, WRONG]), 4, system_name="rag")
    snapshots = [read_snapshot(one.out, KINDS) for one in (before, after)]
    assert [len(one.items) for one in snapshots] == [8, 8]
    found = compare(*snapshots)
    assert found.mismatches == ()
    assert (found.shared, found.only_current, found.lost) == (8, 0, ())
    change = found.metric("answers.correctness")
    assert (change.n, change.baseline, change.worse) == (8, 1.0, 6)
    assert change.current == pytest.approx(1 - 6 / 16)
    assert change.test == "sign-flip"
    assert found.figures["answers.correctness"] == after.summary.overall.answers["correctness"]
    assert {item.id for item in found.changes} >= {*NAMES[2:]}
    answered = found.metric("answers.answered")
    assert (answered.baseline, answered.current) == (1.0, 1 - 1 / 32)


def test_a_stopped_run_asks_only_what_was_not_answered(run, answering):
    def stop():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        return WRONG

    variants = {"q2": [RIGHT, stop, RIGHT]}
    with answering(lambda name: variants.get(name, [RIGHT, WRONG, RIGHT])) as rag:
        stopped = run(rag, 3, NAMES[:3], max_concurrency=1)
        assert evaluate(stopped).summary.status == "interrupted"
        asked = len(rag.asked)
        variants.clear()
        with pytest.raises(InputError, match="repeats"):
            evaluate(run(rag, 2, NAMES[:3], resume=stopped.out, out=None))
        done = evaluate(run(rag, 3, NAMES[:3], resume=stopped.out, out=None, max_concurrency=1))
        assert len(rag.asked) - asked == 9 - (asked - 1)
    assert done.summary.counts.answers_evaluated == 9
    assert not unfinished_folder(done.out).exists()


def test_equal_answers_are_judged_each_and_then_kept(run, answering, server):
    server.script.extend([GOOD, FORGED, GOOD])
    judged = {"judge": None, "model": "openai/judge"}
    with answering(lambda _name: ["연차는 15일이다 [노트 1]."]) as rag:
        first = evaluate(run(rag, 3, NAMES[:1], **judged, max_concurrency=1))
        second = evaluate(run(rag, 3, NAMES[:1], **judged, max_concurrency=1))
    assert len(server.seen.bodies) == 3
    assert second.summary.llm.cache_hits == 3
    assert second.summary.overall == first.summary.overall
    assert first.summary.overall.answers["correctness"] == pytest.approx(2 / 3)
    assert first.summary.variance == {}  # of one question nothing is known


def test_the_judge_has_a_component_if_its_verdicts_on_equal_answers_differ(evaluated, server):
    server.script.extend([GOOD, FORGED] * 2)
    judged = {"judge": None, "model": "openai/judge"}
    done = evaluated(lambda _name: ["연차는 15일이다 [노트 1]."], 2, NAMES[:2], **judged)
    found = done.summary.variance["correctness"]
    assert (found.item, found.system, found.judge) == (0.0, 0.0, 0.5)
    assert "gigamind judge certify" in (done.out / "summary.md").read_text("utf-8")


def test_a_model_answers_again_and_each_answer_is_stored_by_its_number(options, server):
    query = {"id": "q1", "query": "연차는 며칠", "answerable": True, "expected_notes": ["휴가.md"]}
    server.script.extend([{"answer": RIGHT}, {"answer": WRONG}])
    how = {"answer_model": "openai/writer", "mode": "keyword", "context_notes": 1, "repeats": 2}
    first = evaluate(options(items=[query], **how, **WORDS))
    second = evaluate(options(items=[query], **how, **WORDS))
    assert len(server.seen.bodies) == 2
    for done in (first, second):
        answers = {name: line["answer"] for name, line in items_of(done.out).items()}
        assert answers == {"q1": RIGHT, "q1@2": WRONG}


def test_the_estimate_counts_every_answer(options, run, answering):
    query = {"id": "q1", "query": "연차는 며칠", "answerable": True, "expected_notes": ["휴가.md"]}
    how = {"answer_model": "openai/writer", "mode": "keyword", "context_notes": 1}

    def calls(**changes):
        given = options(items=[query], **how, **changes)
        return [work.calls for work in AnswerEvaluation(prepare_answers(given, Quiet())).estimate()]

    once, often = calls(), calls(repeats=5)
    assert often == [5 * count for count in once]
    with answering(lambda _name: [RIGHT]) as rag:
        checked = TASKS["answers"].check(run(rag, 3))
        assert checked.ready.values["n"] == 8
        assert not rag.asked


def test_recorded_answers_cannot_be_repeated(options, tmp_path, answering, run):
    with pytest.raises(InputError, match="--repeats 2"):
        evaluate(options(repeats=2))
    file = tmp_path / "rag.jsonl"
    file.write_text(json.dumps({"id": "q1", "answer": RIGHT}), "utf-8")
    with pytest.raises(InputError, match="--repeats 2"):
        evaluate(options(items=questions(["q1"]), system=f"run:{file}", repeats=2))
    with answering(lambda _name: [RIGHT]) as rag, pytest.raises(InputError, match="q1@2"):
        evaluate(run(rag, 2, ["q1", "q1@2"]))


def test_answers_of_a_question_are_one_cluster_of_their_labels(evaluated):
    done = evaluated(lambda _name: [RIGHT, WRONG], 2, NAMES[:2])
    kind = TASKS["answers"].judged
    items = [item for line in read_run(done.out, KINDS).items for item in kind.items(line)]
    assert len({item.id for item in items}) == len(items)
    assert Counter(item.cluster for item in items) == {"q1": 4, "q2": 4}


def test_checks_of_one_question_are_one_cluster(evaluated, server):
    server.script.extend([GOOD, GOOD, PASSING, FAILING] * 1)
    judged = {"judge": None, "model": "openai/judge", "checklist": True}
    done = evaluated(lambda _name: ["연차는 15일이다 [노트 1]."], 2, NAMES[:1], **judged)
    [item] = read_snapshot(done.out, KINDS).items
    assert item.check.passed == 0.5
    quality = done.summary.quality.overall
    assert quality.pass_rate == 0.5
    assert quality.low == pytest.approx(0.055, abs=0.01)
    assert quality.high == pytest.approx(0.945, abs=0.01)
