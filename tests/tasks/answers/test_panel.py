"""An evaluation of answers by a panel, over real HTTP."""

import json

import pytest
from answer_reply import answer_reply

from gigamind.errors import InputError
from gigamind.evaluation.options import validated
from gigamind.evaluation.progress import Quiet
from gigamind.tasks import evaluate
from gigamind.tasks.answers.judging import estimate_answers, least_calls
from gigamind.tasks.answers.prepare import prepare_answers
from gigamind.tasks.options import AnswerEvalOptions

LEAVE = "연차는 입사 첫해에 15일을 준다."
GARDEN = "The garden has roses and tulips near the gate."
ONE_CLAIM = "연차는 15일이다."
TWO_CLAIMS = "연차는 15일이다. 장미는 없다."
JUDGE = 'kind = "search_qa"\nprompt = "search_qa/v2"\ntemperature = 0.1\nsecond_look = "never"\n'


@pytest.fixture
def options(tmp_path, server):
    """Options of a run over answers, by a judge file with these lines."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "휴가.md").write_text(f"{LEAVE}\n", encoding="utf-8")
    (vault / "garden.md").write_text(f"{GARDEN}\n", encoding="utf-8")

    def make(judge, *answers, **changes):
        (tmp_path / "judge.toml").write_text(JUDGE + judge, encoding="utf-8")
        rows = (
            {
                "id": f"a{number}",
                "question": "연차는 며칠?",
                "answer": answer,
                "language": "ko",
                "context_notes": [{"path": "휴가.md"}, {"path": "garden.md"}],
            }
            for number, answer in enumerate(answers, start=1)
        )
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (tmp_path / "answers.jsonl").write_text("".join(lines), encoding="utf-8")
        given = {
            "dataset": tmp_path / "answers.jsonl",
            "notes": vault,
            "out": tmp_path / "out",
            "judge": tmp_path / "judge.toml",
            "model": "openai/judge",
            "api_base": server.url,
            "cache_dir": tmp_path / "cache",
            "max_in_flight": 1,
            "model_timeout_s": 60,  # both given: no speed is measured
            "allow_partial": True,
        }
        return validated(AnswerEvalOptions, given | changes)

    return make


def reply(*verdicts, utility=1.0):
    proofs = {"supported": (1, LEAVE), "contradicted": (2, GARDEN), "not_found": (None, "")}
    claims = [
        {"id": number, "verdict": verdict, "note": proofs[verdict][0], "quote": proofs[verdict][1]}
        for number, verdict in enumerate(verdicts, start=1)
    ]
    return answer_reply(claims, LEAVE, utility=utility)


def items_of(done):
    rows = (done.out / "per_item.jsonl").read_text("utf-8").splitlines()
    return [json.loads(row) for row in rows]


def test_a_claim_is_what_most_seats_say_and_utility_is_the_median(options, server):
    server.script.extend([
        reply("supported", "contradicted", utility=0.75),
        reply("supported", "not_found", utility=0.5),
        reply("not_found", "contradicted", utility=1.0),
    ])  # fmt: skip
    done = evaluate(options("repeats = 3\n", TWO_CLAIMS))
    (item,) = items_of(done)
    evaluation = item["evaluation"]
    assert [claim["verdict"] for claim in evaluation["claims"]] == ["supported", "contradicted"]
    assert (evaluation["correctness"], evaluation["utility"]) == (0.5, 0.75)
    assert evaluation["confidence"] == "medium"
    assert [(vote["correctness"], vote["utility"]) for vote in item["votes"]] == [
        (0.5, 0.75),
        (0.5, 0.5),
        (0.0, 0.4),  # no claim is proven
    ]
    panel = done.summary.llm.panel
    assert (panel.seats, panel.items, panel.split, panel.incomplete) == (3, 1, 1, 0)
    assert server.seen.total == done.summary.llm.calls == 3


def test_without_a_majority_a_claim_is_not_supported(options, server):
    server.script.extend([reply("supported"), reply("not_found")])
    done = evaluate(options("repeats = 2\n", ONE_CLAIM))
    (item,) = items_of(done)
    assert [claim["verdict"] for claim in item["evaluation"]["claims"]] == ["not_found"]
    assert item["evaluation"]["correctness"] == 0.0


def test_a_panel_that_lost_a_seat_leaves_the_answer_unscored_and_says_so(options, server):
    refusing = "openai/judge;fault=refusal;times=1;sid=second"
    judge = f'panel = ["openai/judge", "{refusing}"]\n'
    server.script.extend([reply("supported")] * 4)
    done = evaluate(options(judge, ONE_CLAIM, "연차는 15일이다!", model=None))
    lost, whole = items_of(done)
    assert (lost["outcome"], lost["code"], lost["evaluation"]) == (
        "unscored",
        "panel_incomplete",
        None,
    )
    assert [vote["code"] for vote in lost["votes"]] == ["", "refused"]
    assert whole["evaluation"]["correctness"] == 1.0
    llm = done.summary.llm
    assert (llm.panel.incomplete, llm.coverage) == (1, 0.5)
    assert sorted(llm.by_role) == ["judge: openai/judge", f"judge: {refusing}"]
    run = json.loads((done.out / "run.json").read_text("utf-8"))
    assert run["judge"]["model"] == f"openai/judge, {refusing}"


@pytest.mark.parametrize(
    ("utility", "verdict", "asked"),
    [
        (1.0, "supported", 1),  # far from every threshold, and its quote stands
        (0.75, "supported", 3),  # near the 0.7 of utility
        (1.0, "not_found", 1),  # 0.0 is far from 0.5
    ],
)
def test_an_adaptive_panel_asks_the_others_only_where_it_may_matter(
    options, server, utility, verdict, asked
):
    server.script.extend([reply(verdict, utility=utility)] * 3)
    evaluate(options("repeats = 3\nadaptive = true\n", ONE_CLAIM))
    assert server.seen.total == asked


def test_an_adaptive_panel_asks_the_others_where_a_quote_failed(options, server):
    forged = reply("supported")
    forged["claims"][0]["quote"] = "연차는 입사 첫해에 20일을 준다."
    server.script.extend([forged, reply("supported"), reply("supported")])
    done = evaluate(options("repeats = 3\nadaptive = true\n", ONE_CLAIM))
    assert server.seen.total == 3
    assert items_of(done)[0]["evaluation"]["correctness"] == 1.0


def test_the_estimate_counts_every_seat(options):
    prepared = prepare_answers(options("repeats = 3\n", ONE_CLAIM, TWO_CLAIMS), Quiet())
    assert [one.calls for one in estimate_answers(prepared)] == [6]
    both = 'panel = ["openai/judge", "openai/other"]\n'
    prepared = prepare_answers(options(both, ONE_CLAIM, model=None), Quiet())
    assert [one.calls for one in estimate_answers(prepared)] == [1, 1]


def test_a_panel_of_one_is_refused(options):
    with pytest.raises(InputError, match="models"):
        prepare_answers(options('panel = ["openai/judge"]\n', ONE_CLAIM), Quiet())


def test_an_adaptive_panel_tells_what_one_seat_judged_alone_and_no_alpha(options, server):
    server.script.extend([reply("supported")] + [reply("supported", utility=0.75)] * 3)
    judge = "repeats = 3\nadaptive = true\n"
    done = evaluate(options(judge, ONE_CLAIM, "연차는 15일이다!"))
    panel = done.summary.llm.panel
    assert (panel.alone, panel.items, panel.alpha) == (1, 1, None)


@pytest.mark.parametrize(("calls", "whole"), [(5, 1), (6, 2), (8, 2)])
def test_a_small_budget_judges_as_many_answers_whole_as_it_can(options, server, calls, whole):
    server.script.extend([reply("supported")] * 12)
    answers = [f"연차는 15일이다{'.' * number}" for number in range(1, 5)]
    given = options("repeats = 3\n", *answers, max_calls=calls, max_in_flight=4)
    done = evaluate(given)
    assert done.summary.llm.outcomes == {"scored": whole, "skipped_budget": 4 - whole}


def test_the_smallest_budget_counts_the_second_judging_of_the_first_answer(options):
    def least(**changes):
        prepared = prepare_answers(options("repeats = 3\n", ONE_CLAIM, **changes), Quiet())
        return least_calls(prepared)

    assert (least(), least(fresh_fraction=1.0)) == (3, 6)
