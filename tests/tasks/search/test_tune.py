"""A grid of settings over the same queries: what to take, how sure that is, and what to type."""

import json
import shlex
import tomllib

import pytest
from blocks import find
from called import call, ran
from row_files import query_row, read_rows, write_rows
from vault_files import write_files

from gigamind.errors import InputError
from gigamind.evaluation.options import validated
from gigamind.i18n import translator
from gigamind.reports.document import Bullets, Examples, Proportion, Steps, Table
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.tasks import evaluate
from gigamind.tasks.options import GridOptions, SearchEvalOptions
from gigamind.tasks.search.schema import JudgeRates
from gigamind.tasks.search.tune import _matching_min_score, tune, tune_grid

EN = translator("en")
THINGS = {
    "dog": "강아지", "school": "학교", "hospital": "병원", "airport": "공항", "library": "도서관", "bread": "빵",
    "bicycle": "자전거", "mountain": "산", "winter": "겨울", "piano": "피아노", "doctor": "의사", "kitchen": "부엌",
    "soccer": "축구", "coffee": "커피", "wedding": "결혼식", "train": "기차", "movie": "영화", "money": "돈",
    "police": "경찰", "river": "강물", "flower": "꽃", "computer": "컴퓨터", "war": "전쟁", "music": "음악",
}  # fmt: skip
NO_OTHER = {
    "modes": ("hybrid",),
    "fusions": ("weighted",),
    "alphas": (0.7,),
    "graph_reranks": ("off",),
}
SMALL = GridOptions(alphas=(0.3,), graph_reranks=("off",))


@pytest.fixture
def options(tmp_path, monkeypatch):
    """A note about each thing in English, and a question about it in Korean, which shares no word with it."""
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    notes = {f"{english}.md": f"The {english} is close to us." for english in THINGS}
    write_files(tmp_path / "vault", notes)
    rows = [query_row(name, f"{korean} 이야기", f"{name}.md") for name, korean in THINGS.items()]
    dataset = write_rows(tmp_path / "q.jsonl", [*rows, query_row("none", "zebra")])
    return SearchEvalOptions(dataset=dataset, notes=tmp_path / "vault", warmup=0, speed_passes=0)


def run_of(command, out):
    """The summary of the evaluation that a command runs."""
    ran(*shlex.split(command)[1:], "--out", out)
    return json.loads((out / "summary.json").read_text("utf-8"))


def test_a_gain_that_is_there_is_found_and_the_command_gives_its_figures(options, tmp_path):
    keyword = options.model_copy(update={"mode": "keyword"})
    tuned = tune(keyword, SMALL, tmp_path / "tuned", evaluate)
    tuning = tuned.tuning
    assert tuning.is_switch
    told = tuning.settings[tuning.chosen]
    assert tuning.as_is.figures["search.ndcg_at_10"] == 0.0
    assert told.figures["search.ndcg_at_10"] > 0.6
    assert 0 < tuning.low < tuning.gain < tuning.high
    assert tuning.worse == ()
    steps = find(tuned.document.blocks, Steps).items
    found = [step.command for step in steps[:2]]
    assert found == [tuning.command, f"gigamind baseline promote {tuned.best.out}"]
    lines = tomllib.loads(steps[2].command)["search"]
    assert lines["dataset"] == str(options.dataset)
    assert lines["mode"] == tuning.settings[tuning.chosen].setting.mode
    assert tuned.document.verdict.state == "measured"
    examples = find(tuned.document.blocks, Examples)
    assert (len(examples.items), len(examples.items[0].sides)) == (3, 2)
    first, *_others = find(tuned.document.blocks, Table).rows
    assert (first[0], first[1]) == ("nDCG@10", Proportion(0.0))
    assert shlex.split(tuning.command)[:3] == ["gigamind", "eval", "search"]

    again = run_of(tuning.command, tmp_path / "again")
    for name, value in again["overall"]["search"].items():
        if not name.startswith(("latency", "span", "answer_in")):
            assert told.figures[f"search.{name}"] == pytest.approx(value), name
    assert {path.name for path in (tmp_path / "tuned").iterdir()} == {
        *("as-is", "best", "report.html", "tune.html", "tune.json")
    }
    assert json.loads((tmp_path / "tuned" / "tune.json").read_text("utf-8")) == tuning.model_dump(
        mode="json"
    )


def test_where_nothing_is_better_it_says_keep_and_the_settings_stay(options, tmp_path):
    tuned = tune(options, SMALL, tmp_path / "tuned", evaluate)
    assert not tuned.tuning.is_switch
    assert tuned.best is None
    (step, accepted) = find(tuned.document.blocks, Steps).items
    for option in ("--mode hybrid", "--fusion weighted", "--alpha 0.7"):
        assert option in step.command
    assert accepted.command.startswith("gigamind baseline promote ")
    assert find(tuned.document.blocks, Examples) is None
    found = {path.name for path in (tmp_path / "tuned").iterdir()}
    assert found == {"as-is", "tune.html", "tune.json"}
    as_is = tuned.current.summary.overall.search
    assert tuned.tuning.as_is.figures["search.mrr"] == pytest.approx(as_is["mrr"])


def test_labels_that_mean_nothing_are_kept(options):
    """Every question expects the note of another one."""
    rows, things = read_rows(options.dataset), list(THINGS)
    for row, other in zip(rows[:-1], things[5:] + things[:5], strict=True):
        row["expected_notes"] = [f"{other}.md"]
    write_rows(options.dataset, rows)
    assert not tune_grid(options, GridOptions()).is_switch


def test_the_default_grid_is_what_costs_nothing():
    as_is = RetrievalSettings()
    settings = GridOptions().around(as_is)
    assert settings[0] == as_is
    # keyword, semantic, nine alphas and balanced, each with and without graph rerank
    assert len(settings) == len(set(settings)) == 24
    assert {(one.embedder, one.chunk_chars) for one in settings} == {(as_is.embedder, 800)}


def test_axes_span_the_grid_and_what_has_no_part_makes_no_second_setting():
    as_is = RetrievalSettings(mode="semantic", alpha=0.2, title_weight=0.3)
    grid = validated(
        GridOptions,
        {
            "alphas": ("0.1,0.2", "0.3"),
            "graph_reranks": "off",
            "chunk_sizes": (400, 800),
            "title_weights": "0,0.5",
        },
    )
    found = grid.around(as_is)
    assert (found[0].mode, found[0].alpha, found[0].title_weight) == ("semantic", 0.7, 0.1)
    of_one_size = [one for one in found if one.chunk_chars == 400]
    # keyword, semantic, three alphas, balanced by two weights
    assert len(of_one_size) == 7
    assert len(found) == 14


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"alphas": "0.3,2"}, "--alphas 2: "),
        ({"alphas": "much"}, "--alphas much: "),
        ({"fusions": "rrf"}, "--fusions rrf: "),
        ({"modes": ("keyword", "")}, "--modes : "),
        ({"chunk_sizes": "50"}, "--chunk-sizes 50: "),
        ({"graph_reranks": "maybe"}, "--graph-reranks maybe: "),
    ],
)
def test_a_value_that_an_axis_does_not_have_is_said(axes, message):
    with pytest.raises(InputError) as raised:
        validated(GridOptions, axes)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "axes", "message"),
    [
        ({"system": "run:a.run"}, {}, "--system: "),
        ({"unanswerable_mode": "llm"}, {}, "--unanswerable-mode llm"),
        ({"sample": "9"}, {}, "10"),
        ({}, {"metric": "ndcg_at_7"}, "hit_at_1"),
        ({"topk": 3}, {"metric": "ndcg_at_10"}, "--topk 3"),
        ({}, NO_OTHER, "--alphas"),
        ({}, {"embedders": ("word2vec",)}, "word2vec"),
    ],
)
def test_where_nothing_can_be_chosen_nothing_is_run(options, tmp_path, changes, axes, message):
    with pytest.raises(InputError) as raised:
        tune(options.model_copy(update=changes), GridOptions(**axes), tmp_path / "tuned", evaluate)
    assert message in str(raised.value)
    assert not (tmp_path / "tuned").exists()


def test_the_command_line_prints_words_or_json_and_ends_with_1_at_a_bad_axis(options, tmp_path):
    given = ("--dataset", options.dataset, "--notes", options.notes, "--speed-passes", "0")
    axes = ("--mode", "keyword", "--modes", "keyword", "--metric", "mrr")
    keyword = ("tune", "search", *given, *axes)
    words = ran(*keyword, "--out", tmp_path / "words")
    assert f"Report: {tmp_path / 'words' / 'tune.html'}" in words.stdout
    told = json.loads(ran(*keyword, "--out", tmp_path / "json", "--json").stdout)
    assert (told["metric"], told["chosen"], len(told["settings"])) == ("search.mrr", 0, 2)
    assert call(*keyword, "--alphas", "3").code == 1


def test_an_advised_judge_takes_the_place_of_the_runs_own(options, tmp_path):
    """Questions that the vault cannot answer, of words that it does not hold: a judge that costs nothing tells them."""
    words = ["giraffe", "volcano", "sonata", "glacier", "cathedral", "saxophone"]
    unknown = (query_row(word, f"history of the {word}") for word in words)
    write_rows(options.dataset, [*read_rows(options.dataset), *unknown])
    tuned = tune(options, SMALL, tmp_path / "tuned", evaluate)
    typed = shlex.split(tuned.tuning.command)
    advised = typed[typed.index("--unanswerable-mode") + 1]
    assert advised in {"answer_score", "calibrated"}
    for step in find(tuned.document.blocks, Steps).items[:2]:
        ran(*shlex.split(step.command)[1:])


def test_what_a_switch_makes_worse_is_in_the_verdict(options, tmp_path):
    """By its words alone no question finds anything, so none without an answer is given one; by meaning all are."""
    strangers = ["기린", "화산", "빙하", "성당", "색소폰", "나침반", "등대", "도서전"]
    unknown = (query_row(word, word) for word in strangers)
    write_rows(options.dataset, [*read_rows(options.dataset)[:-1], *unknown])
    low = options.model_copy(update={"mode": "keyword", "min_score": 0.01})
    tuned = tune(low, SMALL, tmp_path / "tuned", evaluate)
    assert tuned.tuning.is_switch
    assert tuned.document.verdict.state == "warning"
    assert "unanswerable.far" in {metric.metric for metric in tuned.tuning.worse}
    (warning, *_others) = find(tuned.document.blocks, Bullets).items
    assert "FAR" in EN(warning)
    assert "FAR" in tuned.page.read_text("utf-8")


def rates_of(options, out):
    (chosen,) = [
        rates
        for rates in evaluate(options.model_copy(update={"out": out})).summary.judges
        if rates.chosen
    ]
    return chosen


def test_scores_on_another_scale_take_a_threshold_that_refuses_no_more_than_before(
    options, tmp_path
):
    balanced = options.model_copy(update={"fusion": "balanced", "min_score": 0.9})
    before = rates_of(
        options.model_copy(update={"mode": "semantic", "min_score": 0.0}), tmp_path / "before"
    )
    assert (before.refused, before.setting) == (0, 0.0)
    as_is = before.model_copy(update={"setting": 0.9})
    held = _matching_min_score(balanced, as_is)
    assert held is not None
    kept = rates_of(balanced.model_copy(update={"min_score": held}), tmp_path / "held")
    above = rates_of(balanced.model_copy(update={"min_score": held + 0.0001}), tmp_path / "above")
    assert (kept.refused, above.refused) == (0, 1)
    one_more = _matching_min_score(balanced, as_is.model_copy(update={"refused": 1}))
    assert one_more is not None
    assert one_more >= held


@pytest.mark.parametrize(
    ("changes", "rates"),
    [
        ({"unanswerable_mode": "calibrated"}, {}),
        ({}, {"setting": 0.0, "missed": 1}),  # the threshold may stay: nothing is refused by it
        ({}, {"refused": 24}),
    ],
)
def test_a_threshold_that_may_stay_or_has_no_part_stays(options, changes, rates):
    told = dict.fromkeys(("precision", "recall", "f1", "far", "false_refusals"))
    told |= {
        "kind": "threshold",
        "chosen": True,
        "setting": 0.9,
        "unanswerable": 1,
        "answerable": 24,
    }
    as_is = JudgeRates.model_validate(told | {"missed": 0, "refused": 0} | rates)
    balanced = options.model_copy(update={"fusion": "balanced", **changes})
    assert _matching_min_score(balanced, as_is) is None
