import pytest

from gigamind.judges.unanswerable import FreeVerdict, judge_by_threshold
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.index import Chunk
from gigamind.spans import Passage, Span


def hit(note: str, base: float, final: float) -> Hit:
    chunk = Chunk(Passage(note, "text", Span(0, 4)), "")
    return Hit(note, base, final, base, None, chunk, "Title", 1.0, frozenset())


@pytest.mark.parametrize(("base", "unanswerable"), [(0.4999, True), (0.5, False), (0.5001, False)])
def test_a_query_is_unanswerable_strictly_below_the_threshold(base, unanswerable):
    verdict = judge_by_threshold([hit("a.md", base, base)], min_score=0.5)

    assert verdict == FreeVerdict(unanswerable=unanswerable, score=base)


def test_a_query_without_a_hit_is_unanswerable_at_any_threshold():
    assert judge_by_threshold([], min_score=0.0) == FreeVerdict(unanswerable=True, score=None)


def test_the_boost_of_the_graph_never_makes_a_query_answerable():
    ranking = [hit("hub.md", 0.45, 0.54), hit("leaf.md", 0.44, 0.44)]

    assert judge_by_threshold(ranking, min_score=0.5) == FreeVerdict(unanswerable=True, score=0.45)


def test_the_verdict_goes_by_the_first_by_final_score_not_by_the_best_base_score():
    ranking = [hit("hub.md", 0.45, 0.54), hit("leaf.md", 0.52, 0.52)]

    assert judge_by_threshold(ranking, min_score=0.5) == FreeVerdict(unanswerable=True, score=0.45)
    assert not judge_by_threshold(ranking, min_score=0.45).unanswerable
