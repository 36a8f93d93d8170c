"""Runs over five answers, judged over real HTTP."""

import pytest
from five_answers import ITEMS, MODEL, NOTES
from row_files import write_rows
from vault_files import write_files

from gigamind.evaluation.options import validated
from gigamind.tasks.options import AnswerEvalOptions


@pytest.fixture
def vault(tmp_path):
    return write_files(tmp_path / "vault", NOTES)


@pytest.fixture
def options(tmp_path, vault, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    prices = tmp_path / "prices.toml"
    prices.write_text(
        f'[models."{MODEL}"]\nprompt = 1\ncompletion = 2\n[models."openai/writer"]\nprompt = 3\ncompletion = 4\n'
    )
    number = 0

    def make(items=ITEMS, **changes):
        nonlocal number
        number += 1
        dataset = write_rows(tmp_path / f"answers-{len(items)}.jsonl", items)
        given = {
            "dataset": dataset,
            "notes": vault,
            "out": tmp_path / f"out-{number}",
            "model": MODEL,
            "api_base": server.url,
            "min_coverage": 0.0,
            "prices": prices,
            "max_in_flight": 1,
            "model_timeout_s": 60,  # both given: no speed is measured
            "cache_dir": tmp_path / "cache",
            "format": "both",
        }
        return validated(AnswerEvalOptions, given | changes)

    return make
