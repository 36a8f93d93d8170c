import threading
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from gigamind.errors import EmbeddingError, EvaluationError
from gigamind.evaluation.progress import Quiet
from gigamind.evaluation.task import Run
from gigamind.retrieval.retriever import SemanticLeg
from gigamind.systems.open import Builtin
from gigamind.tasks.search.score import open_search


class Scripted:
    """An embedding model that refuses some queries and hangs at others."""

    name = "scripted"

    def __init__(self, refused=(), slow=()):
        self.refused, self.slow, self.asked = refused, slow, []
        self.released = threading.Event()

    def embed_passages(self, texts):
        return np.ones((len(texts), 2), np.float32) / np.sqrt(2)

    def embed_query(self, text):
        self.asked.append(text)
        if text in self.refused:
            raise EmbeddingError(f"refused {text}")
        if text in self.slow:
            self.released.wait(60)
        return np.ones(2, np.float32) / np.sqrt(2)


class Nowhere:
    """A vector index in which every chunk is equally near."""

    def shortlist(self, vector, count):
        del vector
        return np.arange(count), np.ones(count), 1.0

    def cosines(self, vector, chunks):
        del vector
        return np.ones(len(chunks))

    def close(self):
        pass


def scripted_run(options, embedder):
    with closing(open_search(options, Quiet())) as opened:
        fusion = replace(opened.engine.fusion, alpha=0.5)
        engine = replace(opened.engine, semantic=SemanticLeg(embedder, Nowhere()), fusion=fusion)
        evaluation = replace(opened, retriever=Builtin(engine))
        evaluation.warm_up()
        results = evaluation.score(0, evaluation.count, Quiet())
        return evaluation.record(Run(results, 0.0, 0.0), datetime.now(UTC))


def test_a_query_that_fails_is_listed_and_stands_in_no_mean(make_options):
    record = scripted_run(make_options(), Scripted(refused=("deploy",)))
    assert [(e.id, e.error, e.message) for e in record.errors] == [
        ("first", "EmbeddingError", "query first: refused deploy")
    ]
    assert record.summary.counts.queries_failed == 1
    assert record.summary.counts.queries_total == len(record.items) == 5
    assert record.summary.overall.intervals["search.mrr"].n == 3


def test_a_query_that_hangs_fails_and_the_others_do_not_wait(make_options):
    embedder = Scripted(slow=("deploy",))
    record = scripted_run(make_options(timeout_ms=500, warmup=0), embedder)
    assert not embedder.released.is_set()
    embedder.released.set()
    assert [(e.id, e.error) for e in record.errors] == [("first", "QueryTimeoutError")]
    assert len(record.items) == 5


@pytest.mark.parametrize(
    ("changes", "at_a_time"),
    [
        ({}, 1),
        ({"mode": "keyword"}, 1),
        ({"max_concurrency": 3}, 3),
        ({"qdrant_url": "http://localhost:6333"}, 4),
        ({"embedder": "litellm:text-embedding-3-small", "mode": "hybrid"}, 4),
        ({"embedder": "litellm:text-embedding-3-small", "mode": "keyword"}, 1),
        ({"system": "http://localhost:9000"}, 4),
    ],
)
def test_in_one_process_one_query_runs_at_a_time_unless_more_are_asked_for(
    make_options, changes, at_a_time
):
    options = make_options(**{"max_concurrency": None, **changes})
    assert options.concurrency == at_a_time


@pytest.mark.parametrize(("warmup", "asked"), [(0, 6), (2, 8), (100, 12)])
def test_the_first_queries_are_run_once_more_as_a_warm_up(make_options, warmup, asked):
    embedder = Scripted()
    record = scripted_run(make_options(warmup=warmup, max_concurrency=1, speed_passes=0), embedder)
    assert len(embedder.asked) == asked
    assert embedder.asked[:2] == ["deploy", "approval roses"] or warmup == 0
    assert record.summary.counts.queries_total == 6


def test_a_warm_up_that_fails_altogether_ends_the_run(make_options):
    embedder = Scripted(refused=("deploy", "approval roses"))
    with pytest.raises(EvaluationError, match=r"2 queries.*refused deploy"):
        scripted_run(make_options(warmup=2), embedder)


def test_a_warm_up_that_fails_in_part_does_not(make_options):
    embedder = Scripted(refused=("deploy", "approval roses"))
    assert len(scripted_run(make_options(warmup=3), embedder).items) == 4


def test_a_warm_up_that_is_only_slow_does_not(make_options):
    embedder = Scripted(slow=("deploy",))
    record = scripted_run(make_options(warmup=1, timeout_ms=50), embedder)
    embedder.released.set()
    assert len(record.items) == 5
