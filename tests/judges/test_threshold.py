import pytest

from gigamind.judges.unanswerable import FreeVerdict, ThresholdJudge
from gigamind.retrieval.hit import Hit
from gigamind.retrieval.index import Chunk
from gigamind.spans import Passage, Span


@pytest.mark.parametrize(("base", "unanswerable"), [(0.4999, True), (0.5, False), (0.5001, False)])
def test_a_query_is_unanswerable_strictly_below_the_threshold(base, unanswerable):
    chunk = Chunk(Passage("a.md", "text", Span(0, 4)), "")
    hit = Hit("a.md", base, base, base, None, chunk, "Title", 1.0, frozenset())

    verdict = ThresholdJudge(kind="threshold", min_score=0.5).verdict([hit])

    assert verdict == FreeVerdict(unanswerable=unanswerable, score=base)


def test_a_query_without_a_hit_is_unanswerable_at_any_threshold():
    verdict = ThresholdJudge(kind="threshold", min_score=0.0).verdict([])
    assert verdict == FreeVerdict(unanswerable=True, score=None)
