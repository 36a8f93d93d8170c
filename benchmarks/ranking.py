"""What ranking metrics cost, beside pytrec_eval, in one run and as a ratio of CPU; and whether both say the same.

    python benchmarks/ranking.py             # 100 000 queries of 100 hits; --queries 10000 --hits 100

Both measure hit, nDCG and recall at 1, 3, 5, 10 and the depth of the rankings, and MRR, of the same generated rankings
and graded judgements, from the Python objects that each takes to the figures of each query.
"""

import argparse
import gc
import random
import time
from collections.abc import Callable
from typing import Any

import pytrec_eval

from gigamind.metrics.ranking_table import RankedQuery
from gigamind.metrics.rankings import CUTOFFS, measure_rankings

Qrels = dict[str, dict[str, int]]
OURS = {"hit_at": "success", "ndcg_at": "ndcg_cut", "recall_at": "recall"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--hits", type=int, default=100)
    parser.add_argument("--judged", type=int, default=20, help="judged notes a query")
    arguments = parser.parse_args()
    depth, cutoffs = arguments.hits, sorted({*CUTOFFS, arguments.hits})
    qrels, rankings = generated(arguments.queries, depth, arguments.judged)
    plain = [RankedQuery(ranking, qrels[name]) for name, ranking in rankings.items()]
    holes = [RankedQuery(r.ranking, r.qrels, is_judged=True) for r in plain]
    ours, ours_s = timed(lambda: measure_rankings(plain, depth))
    _, holes_s = timed(lambda: measure_rankings(holes, depth))
    scores = {
        name: {note: float(depth - place) for place, note in enumerate(ranking)}
        for name, ranking in rankings.items()
    }
    told = ",".join(map(str, cutoffs))
    names = {"recip_rank", *(f"{measure}.{told}" for measure in OURS.values())}
    theirs, theirs_s = timed(lambda: pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(scores))
    print(f"{arguments.queries} queries x {depth} hits, {arguments.judged} judged notes a query")
    print(
        f"pytrec_eval {theirs_s:.2f} s of CPU; gigamind {ours_s:.2f} s: {ours_s / theirs_s:.2f} times"
    )
    print(f"with judged@k and the bounds of nDCG@k {holes_s:.2f} s: {holes_s / theirs_s:.2f} times")
    pairs = zip(ours, theirs.values(), strict=True)
    print(f"largest difference of a figure: {max(apart(o, t, cutoffs) for o, t in pairs):.1e}")


def generated(queries: int, hits: int, judged: int) -> tuple[Qrels, dict[str, list[str]]]:
    """Judgements of 0 to 3 and rankings that find about half of the judged notes; names as long as paths are."""
    chance = random.Random(19)
    notes = [f"notes/folder-{n % 97}/document-{n:06d}.md" for n in range(50_000)]
    qrels: Qrels = {}
    rankings: dict[str, list[str]] = {}
    for number in range(queries):
        pool = chance.sample(notes, hits + judged // 2)
        qrels[f"q{number}"] = {
            note: chance.choice((0, 0, 1, 1, 2, 3)) for note in pool[hits - judged // 2 :][:judged]
        }
        ranking = pool[:hits]
        chance.shuffle(ranking)
        rankings[f"q{number}"] = ranking
    return qrels, rankings


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    gc.collect()
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def apart(ours: dict[str, Any], theirs: dict[str, float], cutoffs: list[int]) -> float:
    """The largest difference between both over a query."""
    same = {"mrr": "recip_rank"}
    same |= {f"{our}_{k}": f"{their}_{k}" for our, their in OURS.items() for k in cutoffs}
    return max(abs(ours[our] - theirs[their]) for our, their in same.items())


if __name__ == "__main__":
    main()
