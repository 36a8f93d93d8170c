"""A search evaluation judged by a panel of models, or by repetitions of one, over real HTTP."""

import json

import pytest
from blocks import section

from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation.shards import unfinished_folder
from gigamind.llm.ledger import read_ledger
from gigamind.reports.document import Prose
from gigamind.tasks import evaluate
from gigamind.tasks.search.judging import estimate, least_calls
from gigamind.tasks.search.prepare import prepare

# The delays put the answers of one query in the order of the seats, as a script needs them.
PANEL = ("openai/a", "openai/b;lat=60", "openai/c;lat=120")
FILE = """kind = "llm"
prompt = "unanswerable/v1"
"""
ASKED = 5  # nothing is found for the sixth query, "nothing"


@pytest.fixture
def by_panel(by_models, tmp_path):
    """Options of a run whose judge file says so, with a price for each model."""

    def options(lines, models=PANEL, **changes):
        file = tmp_path / "panel.toml"
        file.write_text(FILE + lines, encoding="utf-8")
        return by_models(*models, **({"judge": file} | changes))

    return options


def panel_of(*models):
    return f"panel = {json.dumps(list(models))}\n"


def reply(quote="", *, unanswerable=False):
    sources = [] if unanswerable else [{"note": 1, "quote": quote}]
    return {"answer": quote, "sources": sources, "answered": not unanswerable, "confidence": "high"}


FRIDAY = reply("The deploy runs every Friday.")
FORGED = reply("no such sentence stands anywhere in these notes")
NO = reply(unanswerable=True)


@pytest.fixture
def items_of(lines):
    """The lines of per_item.jsonl by their id."""
    return lambda done: {item["id"]: item for item in lines(done.out, "per_item.jsonl")}


def test_the_majority_of_a_panel_decides_and_every_vote_is_kept(by_panel, server, items_of):
    server.script.extend([FRIDAY, NO, FRIDAY, *[NO] * 12])
    done = evaluate(by_panel(panel_of(*PANEL)))
    first, second = (items_of(done)[name] for name in ("first", "second"))
    assert (first["judged_unanswerable"], second["judged_unanswerable"]) == (False, True)
    told = first["judgement"]
    assert [(v["model"], v["unanswerable"], v["answer"]) for v in told["votes"]] == [
        ("openai/a", False, "The deploy runs every Friday."),
        ("openai/b;lat=60", True, ""),
        ("openai/c;lat=120", False, "The deploy runs every Friday."),
    ]
    assert told["disagreement"] == pytest.approx(2 / 3)  # two of the three pairs differ
    assert (told["verified"], told["confidence"]) == (True, None)
    assert told["quotes"][0]["note"] == "deploy.md"
    assert items_of(done)["nothing"]["judgement"]["votes"] == []


def test_the_summary_tells_how_far_the_panel_agrees_and_what_each_model_cost(by_panel, server):
    server.script.extend([FRIDAY, NO, FRIDAY, *[NO] * 12])
    done = evaluate(by_panel(panel_of(*PANEL), lang="ko"))
    llm = done.summary.llm
    assert list(llm.by_role) == [f"unanswerable: {name}" for name in PANEL]
    assert [part.calls for part in llm.by_role.values()] == [ASKED] * 3
    seen = server.seen
    assert round(llm.usd * 1e6) == seen.prompt_tokens + 2 * seen.completion_tokens
    panel = llm.panel
    assert (panel.seats, panel.items, panel.split, panel.rate) == (3, 5, 1, 0.2)
    # 15 votes, 2 of them "no": observed disagreement 4 / 2 / 15, expected 2 * 2 * 13 / (15 * 14).
    assert panel.alpha == pytest.approx(1 - (2 / 15) / (52 / 210))
    assert (panel.incomplete, panel.tied) == (0, 0)
    for name in ("summary.md", "report.html"):
        assert "0.462" in (done.out / name).read_text("utf-8")
    judge = json.loads((done.out / "run.json").read_text("utf-8"))["judge"]
    assert judge["model"] == ", ".join(PANEL)


def test_a_lost_member_leaves_the_item_unscored_with_the_other_votes(by_panel, items_of, lines):
    broken = "openai/b;fault=missing_field;times=2;sid=lost"  # asked again once, then lost
    done = evaluate(by_panel(panel_of("openai/a", broken), models=("openai/a", broken)))
    assert done.summary.llm.outcomes == {"scored": 5, "unscored": 1}
    assert done.summary.llm.panel.incomplete == 1
    item = items_of(done)["first"]
    assert item["judged_unanswerable"] is None
    told = item["judgement"]
    assert (told["outcome"], told["code"]) == ("unscored", "panel_incomplete")
    assert [(v["model"], v["code"]) for v in told["votes"]] == [
        ("openai/a", ""),
        (broken, "invalid_output"),
    ]
    (error,) = lines(done.out, "errors.jsonl")
    assert (error["id"], error["error"]) == ("first", "panel_incomplete")
    assert "1 of 2 " in error["message"]
    assert broken in error["message"]
    assert not unfinished_folder(done.out).exists()  # it would be lost again


@pytest.mark.parametrize(
    ("tie", "verdict"), [("positive", True), ("negative", False), ("unscored", None)]
)
def test_a_tie_is_decided_by_the_judge_file(by_panel, server, tie, verdict, items_of, lines):
    server.script.extend([FRIDAY, NO, *[NO] * 8])
    done = evaluate(by_panel(panel_of(*PANEL[:2]) + f'tie = "{tie}"\n'))
    assert items_of(done)["first"]["judged_unanswerable"] is verdict
    assert done.summary.llm.panel.tied == (1 if verdict is None else 0)
    codes = [error["error"] for error in lines(done.out, "errors.jsonl")]
    assert codes == (["panel_tied"] if verdict is None else [])


def test_repetitions_vote_and_are_stored_each_by_its_number(by_panel, server, tmp_path, items_of):
    repeats = "repeats = 3\ntemperature = 0.7\n"
    model = {"model": "openai/judge", "models": ("openai/judge",)}
    server.script.extend([FRIDAY, NO, FRIDAY])
    done = evaluate(by_panel(repeats, **model))
    assert server.seen.total == 3 * ASKED
    votes = items_of(done)["first"]["judgement"]["votes"]
    assert [(v["repeat"], v["unanswerable"]) for v in votes] == [(0, False), (1, True), (2, False)]
    again = evaluate(by_panel(repeats, out=tmp_path / "again", **model))
    assert (again.summary.llm.calls, again.summary.llm.cache_hits) == (0, 3 * ASKED)
    assert items_of(again)["first"]["judgement"]["votes"] == votes
    assert again.summary.llm.panel.seats == 3


def test_an_adaptive_panel_asks_the_others_only_where_the_quotes_failed(by_panel, server, items_of):
    server.script.extend([FRIDAY, NO, FORGED, NO, FRIDAY, NO, NO])
    done = evaluate(by_panel(panel_of(*PANEL) + "adaptive = true\n"))
    items = items_of(done)
    assert [len(items[name]["judgement"]["votes"]) for name in ("first", "second", "korean")] == [
        1,
        1,
        3,
    ]
    assert items["korean"]["judged_unanswerable"] is True
    assert [part.calls for part in done.summary.llm.by_role.values()] == [5, 1, 1]
    assert done.summary.llm.panel.items == 1


def test_one_budget_holds_for_the_panel_and_a_resumed_run_asks_what_is_missing(by_panel, server):
    panel = panel_of(*PANEL)
    with pytest.raises(EvaluationError, match="3 of 6 "):
        evaluate(by_panel(panel, max_calls=7))
    out = by_panel(panel).out
    assert server.seen.total == 7
    done = evaluate(by_panel(panel, max_calls=15, out=None, resume=out))
    assert done.summary.llm.outcomes == {"scored": 6}
    assert (done.summary.llm.calls, server.seen.total) == (15, 15)  # the seventh was not lost
    assert [part.calls for part in done.summary.llm.by_role.values()] == [5, 5, 5]
    assert len(read_ledger(out / "attempts.jsonl")) == 16  # and one row from the store


def test_a_fault_that_may_pass_is_asked_about_again_by_a_resumed_run(by_panel, server, lines):
    faulty = "openai/b;fault=404;times=1;sid=down"
    given = {"models": ("openai/a", faulty)}
    first = evaluate(by_panel(panel_of("openai/a", faulty), **given))
    assert first.summary.llm.panel.incomplete == 1
    assert unfinished_folder(first.out).exists()
    asked = server.seen.total
    done = evaluate(by_panel(panel_of("openai/a", faulty), out=None, resume=first.out, **given))
    assert server.seen.total == asked + 1
    assert done.summary.llm.outcomes == {"scored": 6}
    assert lines(done.out, "errors.jsonl") == []
    assert not unfinished_folder(done.out).exists()


def test_a_refused_key_of_one_member_stops_the_run(by_panel, server):
    refused = "openai/b;fault=401"
    with pytest.raises(EvaluationError, match="auth_failed"):
        evaluate(by_panel(panel_of("openai/a", refused), models=("openai/a", refused)))
    assert server.seen.total == 2


def test_a_member_without_a_price_is_refused_under_a_limit_in_dollars(by_panel):
    elsewhere = {"max_cost_usd": 1.0, "api_base": "http://models.example/v1"}
    with pytest.raises(InputError, match="openai/b;lat=60"):
        evaluate(by_panel(panel_of(*PANEL), models=PANEL[:1], **elsewhere))


def test_a_panel_is_judged_again_as_a_whole_to_see_what_flips(by_panel, server, items_of):
    server.script.extend([FRIDAY, FRIDAY, NO, NO, FRIDAY, NO])  # 2 of 3, then 1 of 3
    done = evaluate(by_panel(panel_of(*PANEL), fresh_fraction=1.0))
    assert done.summary.llm.calls == 2 * 3 * ASKED
    assert items_of(done)["first"]["judgement"]["flipped"] is True
    assert items_of(done)["first"]["judged_unanswerable"] is False


def test_the_model_of_the_run_is_asked_only_where_no_panel_is_named(by_panel):
    done = evaluate(by_panel(panel_of(*PANEL), model="openai/other"))
    warnings = json.loads((done.out / "run.json").read_text("utf-8"))["warnings"]
    assert any("--model openai/other: " in warning for warning in warnings)
    assert "unanswerable: openai/other" not in done.summary.llm.by_role
    with pytest.raises(InputError, match="--model: "):
        evaluate(by_panel("repeats = 3\n", out=done.out.with_name("none")))


@pytest.mark.parametrize(
    "wrong",
    [
        panel_of("openai/a"),
        panel_of("a", "b") + "repeats = 2\n",
        "adaptive = true\n",
        "repeats = 0\n",
    ],
)
def test_a_wrong_panel_is_an_error_that_names_the_file(by_panel, wrong):
    with pytest.raises(InputError, match=r"panel\.toml: "):
        evaluate(by_panel(wrong))


def test_another_panel_is_another_judge(by_panel):
    def judge(text):
        return prepare(by_panel(text, model="openai/a")).judge.report

    plain, repeated = judge(""), judge("repeats = 3\n")
    two, three = judge(panel_of(*PANEL[:2])), judge(panel_of(*PANEL))
    assert plain.model == repeated.model == "openai/a"
    assert len({one.fingerprint for one in (plain, repeated, two, three)}) == 4


def test_a_dry_run_counts_every_seat_of_every_model(by_panel):
    def calls(text, **changes):
        found = estimate(prepare(by_panel(text, **changes)))
        return [(one.what.rpartition(" ")[2], one.calls) for one in found]

    assert calls(panel_of(*PANEL)) == [(name, ASKED) for name in PANEL]
    assert calls("repeats = 3\n", model="openai/a") == [("openai/a", 3 * ASKED)]
    assert least_calls(prepare(by_panel("repeats = 3\n", model="openai/a"))) == 3
    adaptive = estimate(prepare(by_panel(panel_of(*PANEL) + "adaptive = true\n")))
    assert [one.tokens[0] > 0 for one in adaptive] == [True, False, False]


def test_a_smaller_panel_judges_where_its_file_says_so_and_the_report_counts_it(
    by_panel, server, items_of
):
    models = ("openai/a", "openai/b;lat=60;fault=404", "openai/c;lat=120")
    server.script.extend([NO] * 2 * ASKED)
    done = evaluate(by_panel(f'missing_seat = "majority_of_rest"\n{panel_of(*models)}', models))
    first = items_of(done)["first"]
    assert first["judged_unanswerable"] is True
    assert [vote["code"] for vote in first["judgement"]["votes"]] == ["", "", "bad_request"]
    assert (done.summary.llm.panel.short, done.summary.llm.panel.incomplete) == (ASKED, 0)
    texts = [b.text for b in section(done.page, "cost").blocks if isinstance(b, Prose)]
    parts = [part for text in texts for part in text.values.get("parts", ())]
    assert {"items": ASKED} in [part.values for part in parts]
