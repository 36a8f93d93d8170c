"""A metric of one's own on the terminal."""

import pytest

from gigamind.metrics.spec import OWN as OWN_METRICS
from gigamind.metrics.spec import Metric, Text, Use
from gigamind.metrics.table import register


def first_is_found(ranking, qrels):
    return float(bool(ranking) and ranking[0] in qrels)


@pytest.mark.parametrize(
    ("use", "stands"), [(Use(main=1), True), (Use(main=1, page=1), True), (Use(page=1), False)]
)
def test_one_that_says_that_it_is_main_stands_in_the_table(search, use, stands):
    about = Text("the first note is expected", "첫 노트가 정답")
    own = Metric(
        "search", "ranking", first_is_found, "own_first", Text("own first", "첫째"), about, use=use
    )
    register(own)
    try:
        ended = search()
    finally:
        del OWN_METRICS[own.key]
    assert ended.code == 0
    rows = [line for line in ended.stdout.splitlines() if line.startswith("own first ")]
    assert len(rows) == stands
    assert "hit@1" in ended.stdout
