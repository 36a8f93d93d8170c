import re
import sys
from collections import Counter

import pytest
from ranked import measure_ranking

from gigamind.errors import InputError
from gigamind.metrics.answerability import METRICS as VERDICTS
from gigamind.metrics.grounding import GroundingTable
from gigamind.metrics.links import LinkedNote
from gigamind.metrics.spec import BLOCKS, Metric, Text, Use
from gigamind.metrics.spec import OWN as OWN_METRICS
from gigamind.metrics.table import about, in_order, keys_in, label, metrics_of, register, use_of
from gigamind.records.schema import IntervalReport
from gigamind.release.policy import _Quality
from gigamind.reports.views import figure_of
from gigamind.tasks.search.schema import SliceCounts, SliceReport


def _misses(ranking, qrels, k):
    return float(sum(note not in qrels for note in ranking[:k]))


OWN = Metric(
    "search", "ranking", _misses, "misses_at_{k}", Text("misses@{k}", "빗나감@{k}"),
    about=Text("notes that nobody expected", "정답이 아닌 노트"),
    use=Use(gate=True, lower=True, main=1, page=1),
)  # fmt: skip


@pytest.fixture
def own():
    register(OWN)
    yield OWN
    del OWN_METRICS[OWN.key]


@pytest.mark.usefixtures("own")
def test_a_metric_is_computed_called_ordered_and_gated_from_its_one_entry():
    assert measure_ranking(["a", "b"], {"a": 1}, 2)["misses_at_2"] == 1.0
    assert label("search.misses_at_5", "en") == label("search.misses_at_5") == "misses@5"
    assert label("search.misses_at_5", "ko") == "빗나감@5"
    assert use_of("search.misses_at_5").lower
    assert _Quality(metrics=("search.misses_at_5",)).metrics == ("search.misses_at_5",)
    names = ["search.mrr", "search.misses_at_5", "search.misses_at_10"]
    assert in_order(names[::-1]) == names
    assert [keys_in(place, ["search"], 10)[-1] for place in ("main", "page")] == names[-1:] * 2


@pytest.mark.usefixtures("own")
def test_a_metric_is_shown_with_its_interval():
    part = SliceReport(
        counts=SliceCounts(queries=2, answerable=2, unanswerable=0),
        search={"misses_at_1": 0.5},
        unanswerable={},
        intervals={"search.misses_at_1": IntervalReport(low=0.1, high=0.9, n=2)},
    )
    figure = figure_of(part, "search.misses_at_1")
    assert (figure.value, figure.interval.low, figure.interval.high) == (0.5, 0.1, 0.9)
    assert (label(figure.key, "en"), label(figure.key, "ko")) == ("misses@1", "빗나감@1")


def test_a_metric_that_was_taken_back_is_unknown():
    assert not use_of("search.misses_at_5").gate
    assert label("search.misses_at_5", "ko") == "misses at 5"


def test_no_metric_is_registered_twice(own):
    with pytest.raises(ValueError, match=r"search\.misses_at_\{k\}"):
        register(own)
    with pytest.raises(ValueError, match=r"search\.mrr"):
        register(Metric("search", None, None, "mrr", Text("MRR", "MRR")))


@pytest.mark.parametrize(
    "given",
    [
        {"label": Text("own", "")}, {"about": Text("what it is", "")}, {"block": "speed"},
        {"of": _misses},
    ],
)  # fmt: skip
def test_a_metric_lacks_nothing(given):
    own = {"block": "search", "takes": None, "of": None, "name": "own", "label": Text("own", "own")}
    with pytest.raises(ValueError, match="own"):
        Metric(**own | given)


def test_every_metric_that_a_room_computes_stands_in_the_table_under_one_name():
    note = LinkedNote("a", "en", (), (), (frozenset({"b"}),))
    computed = {
        "search": measure_ranking([], {"a": 1}, 5),
        "links": note.terms(5),
        "answers": GroundingTable((), 1).measured(),
        "unanswerable": {metric.name for metric in VERDICTS},
    }
    for block, names in computed.items():
        for name in names:
            fitting = [m.key for m in metrics_of(block) if m.pattern.fullmatch(name)]
            assert len(fitting) == 1, (block, name)
    assert not [key for key, n in Counter(m.key for m in metrics_of(*BLOCKS)).items() if n > 1]


GATED = (
    "search.hit_at_7 unanswerable.far links.precision_at_5 answers.citation_recall quality.pass_rate"
    " quality.any_item"
)
UNGATED = "search.latency_p95_ms links.precision_over_5 answers.faithfulness quality.No mrr"


def test_what_may_be_gated():
    assert [key for key in GATED.split() if not use_of(key).gate] == []
    assert [key for key in UNGATED.split() if use_of(key).gate] == []


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (lambda *_: sys.exit(0), "metric search.own: SystemExit: 0"),
        (lambda *_: 7.0, "search.own"),
        (lambda: 1.0, "metric search.own: TypeError: "),
    ],
)  # fmt: skip
def test_a_fault_of_an_own_metric_names_it(of, said):
    metric = Metric("search", "ranking", of, "own", Text("own", "직접"))
    register(metric)
    try:
        with pytest.raises(InputError, match=re.escape(said)):
            measure_ranking(["a", "b"], {"a": 1}, 2)
    finally:
        del OWN_METRICS[metric.key]


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("name", ["hit", "recall"])
def test_a_metric_of_the_first_result_is_explained_without_a_cut_off(name, language):
    first, deep = (about(f"search.{name}_at_{k}", language) for k in (1, 10))
    assert "10" in deep
    assert not any(character.isdigit() for character in first)
