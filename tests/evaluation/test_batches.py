import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from out_files import summary_of

from gigamind.errors import EvaluationError, InputError
from gigamind.evaluation.run import _batch_size
from gigamind.publish.flows import STEPS
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.search.score import _SearchEvaluation

EXAMPLES = Path(__file__).parents[2] / "examples"
STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def options(tmp_path: Path, examples_cache: Path) -> Iterator[SearchEvalOptions]:
    """Keyword search of 120 queries of the examples; what it opened is closed at the end."""
    chosen = SearchEvalOptions(
        dataset=EXAMPLES / "queries.jsonl",
        notes=EXAMPLES / "vault",
        sample="120",  # of which enough are unanswerable: else a forecast of the judges is computed
        out=tmp_path / "out",
        mode="keyword",
        speed_passes=0,
        cache_dir=examples_cache,
    )
    yield chosen
    STEPS.close_run(chosen)


def prepare(options: SearchEvalOptions) -> list[tuple[int, int]]:
    """Ready to run; the batches."""
    assert options.out is not None
    return STEPS.prepare_batches(options, options.out)["batches"]


def held(options: SearchEvalOptions) -> _SearchEvaluation:
    """What this process holds open for a run."""
    evaluation = STEPS.opened(options).evaluation
    assert isinstance(evaluation, _SearchEvaluation)
    return evaluation


def without_times(batch: dict[str, Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in result.items() if k != "latency_ms"} for result in batch["results"]]


@pytest.mark.each(
    "count, ms_per_query, expected",
    [
        (100, 10, 65),  # 65 * 10 ms = 650 ms
        (100, 10.01, 65),  # ... and 64 would be 640.64 ms: too little
        (100, 9.99, 66),  # 65 would be 649.35 ms
        (100, 650, 2),  # one query would do, but 100 batches are too many: ceil(100 / 64)
        (64, 650, 1),
        (64, 649.9, 2),
        (65, 650, 2),
        (128, 1000, 2),
        (129, 1000, 3),
        (4160, 10, 65),  # 64 batches of 65
        (4161, 10, 66),
        (10, 0, 6500),  # too fast to measure: 0.1 ms
    ],
)
def test_a_batch_holds_650_ms_of_work_and_64_batches_hold_all(
    count: int, ms_per_query: float, expected: int
):
    assert _batch_size(count, ms_per_query) == expected


def test_batches_cover_every_query_once_and_in_order(options: SearchEvalOptions):
    pieces = prepare(options)
    assert [query for first, end in pieces for query in range(first, end)] == list(range(120))


def test_a_batch_is_plain_json(options: SearchEvalOptions):
    prepare(options)
    batch = STEPS.run_batch(options, 0, 2)
    assert json.loads(json.dumps(batch, allow_nan=False)) == batch
    assert batch["runtime_ms"] > 0


def test_batches_of_any_size_are_the_same_run(options: SearchEvalOptions, tmp_path: Path):
    prepare(options)
    whole = [STEPS.run_batch(options, 0, 120)]
    pieces = [STEPS.run_batch(options, first, end) for first, end in ((0, 1), (1, 77), (77, 120))]
    assert [result for piece in pieces for result in without_times(piece)] == without_times(
        whole[0]
    )
    read: list[Any] = []
    for out, found in (("whole", whole), ("pieces", pieces)):
        finished = STEPS.finish_run(options, found, tmp_path / out, STARTED)
        assert finished["headline"] in finished["page"]
        read.append(summary_of(tmp_path / out))
    assert read[0]["overall"]["unanswerable"] == read[1]["overall"]["unanswerable"]
    assert read[0]["overall"]["intervals"] == read[1]["overall"]["intervals"]
    assert read[1]["performance"]["eval_runtime_ms"] == sum(p["runtime_ms"] for p in pieces)


def test_two_threads_open_an_evaluation_once(options: SearchEvalOptions):
    together = threading.Barrier(2)

    def opened(_: int) -> Any:
        together.wait()
        return held(options)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(opened, range(2))
    assert first is second


def test_a_closed_run_is_opened_anew(options: SearchEvalOptions):
    first = held(options)
    assert held(options) is first
    STEPS.close_run(options)
    STEPS.close_run(options)  # of nothing
    assert held(options) is not first


def test_runs_of_different_options_stand_side_by_side(options: SearchEvalOptions):
    other = options.model_copy(update={"topk": 3})
    assert held(options).prepared.options.topk == 10
    assert held(other).prepared.options.topk == 3
    STEPS.close_run(other)
    assert len(STEPS.run_batch(options, 0, 1)["results"][0]["ranking"]) == 10


def test_a_full_out_folder_is_refused_before_any_work(options: SearchEvalOptions, tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "summary.json").write_text("{}")
    with pytest.raises(InputError, match="exists already"):
        prepare(options.model_copy(update={"cache_dir": tmp_path / "cache"}))
    assert not (tmp_path / "cache").exists()


def test_a_run_without_one_result_fails_and_leaves_its_folder(
    options: SearchEvalOptions, tmp_path: Path
):
    prepare(options)
    nothing = {"results": [], "runtime_ms": 0.0}
    refused = STEPS.finish_run(options, [nothing], tmp_path / "out", STARTED)["refused"]
    assert refused["exit_code"] == EvaluationError.exit_code
    assert "errors.jsonl" in refused["message"]
    assert (tmp_path / "out" / "summary.json").is_file()


def test_the_input_is_checked_in_a_line(options: SearchEvalOptions, tmp_path: Path):
    dataset = tmp_path / "queries.jsonl"
    dataset.write_text(options.dataset.read_text("utf-8") + "{broken\n", "utf-8")
    found = STEPS.check_input(options.model_copy(update={"dataset": dataset}))
    assert found.values["rows"] == 1
    assert "120" in found.values["ready"]
