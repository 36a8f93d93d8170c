"""Compare the CPU time of ranking metrics with pytrec_eval, ir_measures and ranx, as ratios.

    python benchmarks/ranking.py --queries 20000            # all four; medians of five runs
    python benchmarks/ranking.py --only pytrec_eval         # 100 000 queries of 100 hits: gigamind and pytrec_eval

All measure hit, nDCG and recall at 1, 3, 5, 10 and the depth of the rankings, and MRR, of the same generated rankings
and graded judgements, from their Python objects to the figures per query.
"""

import argparse
import gc
import json
import random
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import ir_measures
import pytrec_eval
from opponents import find_opponents

from gigamind.metrics.ranking import RankedQuery, measure_rankings
from gigamind.metrics.spec import CUTOFFS

Qrels = dict[str, dict[str, int]]
OURS = {"hit_at": "success", "ndcg_at": "ndcg_cut", "recall_at": "recall"}
IN_IR_MEASURES = {"hit_at": "Success", "ndcg_at": "nDCG", "recall_at": "R"}
IN_RANX = {"hit_at": "hit_rate", "ndcg_at": "ndcg", "recall_at": "recall"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--hits", type=int, default=100)
    parser.add_argument("--judged", type=int, default=20, help="judged notes a query")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="+", help="these opponents")
    arguments = parser.parse_args()
    find_opponents()
    depth, cutoffs = arguments.hits, sorted({*CUTOFFS, arguments.hits})
    qrels, rankings = generated(arguments.queries, depth, arguments.judged)
    plain = [RankedQuery(ranking, qrels[name]) for name, ranking in rankings.items()]
    scores = {
        name: {note: float(depth - place) for place, note in enumerate(ranking)}
        for name, ranking in rankings.items()
    }
    sides: dict[str, Callable[[], Any]] = {"gigamind": lambda: measure_rankings(plain, depth)}
    sides |= {
        name: measure
        for name, measure in opponents(qrels, scores, cutoffs).items()
        if not arguments.only or name in arguments.only
    }
    spent: dict[str, list[float]] = {name: [] for name in sides}
    results: dict[str, Any] = {}
    for _ in range(arguments.runs):
        for name, measure in sides.items():
            results.pop(name, None)
            results[name], taken = timed(measure)
            spent[name].append(taken)
    pairs = zip(results["gigamind"], results["pytrec_eval"].values(), strict=True)
    figures = {
        "queries": arguments.queries,
        "hits": depth,
        "runs": arguments.runs,
        "cpu_s": {name: statistics.median(times) for name, times in spent.items()},
        "largest_difference": max(apart(o, t, cutoffs) for o, t in pairs),
    }
    print(json.dumps(figures, indent=1))


def opponents(
    qrels: Qrels, scores: dict[str, dict[str, float]], cutoffs: list[int]
) -> dict[str, Callable[[], Any]]:
    """Yield each installed opponent, ready to measure."""
    depths = ",".join(map(str, cutoffs))
    names = {"recip_rank", *(f"{measure}.{depths}" for measure in OURS.values())}
    measures = [ir_measures.RR]
    measures += [
        getattr(ir_measures, name) @ k for name in IN_IR_MEASURES.values() for k in cutoffs
    ]
    sides: dict[str, Callable[[], Any]] = {
        "pytrec_eval": lambda: pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(scores),
        "ir_measures": lambda: list(ir_measures.iter_calc(measures, qrels, scores)),
    }
    if find_spec("ranx"):
        import ranx

        wanted = ["mrr", *(f"{name}@{k}" for name in IN_RANX.values() for k in cutoffs)]

        def by_ranx(count: int | None = None) -> Any:  # noqa: ANN401
            some = list(scores)[:count]
            judged = ranx.Qrels({name: qrels[name] for name in some})
            run = ranx.Run({name: scores[name] for name in some})
            return ranx.evaluate(judged, run, wanted, return_mean=False)

        by_ranx(100)  # compiles
        sides["ranx"] = by_ranx
    return sides


def generated(queries: int, hits: int, judged: int) -> tuple[Qrels, dict[str, list[str]]]:
    """Return judgements of 0 to 3 and rankings that find about half of the judged notes; names as long as paths."""
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
    """Return the largest difference between both for a query."""
    same = {"mrr": "recip_rank"}
    same |= {f"{our}_{k}": f"{their}_{k}" for our, their in OURS.items() for k in cutoffs}
    return max(abs(ours[our] - theirs[their]) for our, their in same.items())


if __name__ == "__main__":
    main()
