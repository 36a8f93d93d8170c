from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from faulty_model import FakeServer
from row_files import query_row, write_rows
from vault_files import write_files

from gigamind.tasks.options import SearchEvalOptions

# Five notes, three English and two Korean.  A title is the file's name, and is indexed with the text.
NOTES = {
    "policies/approval.md": "---\nlang: en\n---\nInvoices above 500 euros need approval.\n",
    "휴가.md": "---\nlang: ko\n---\n🌴 휴가는 팀장에게 신청한다.\n",
    "deploy.md": "---\nlang: en\n---\nThe deploy runs every Friday.\n",
    "회의.md": "---\nlang: ko\n---\n회의는 월요일에 한다.\n",
    "garden.md": "---\nlang: en\n---\nThe garden has roses.\n",
}

QUERIES: list[dict[str, object]] = [
    query_row("first", "deploy", "deploy.md", language="en", difficulty="easy", tags=["ops"]),
    query_row("second", "approval roses", "garden.md", language="en", difficulty="mid"),
    query_row(
        "korean",
        "휴가 신청",
        "휴가.md",
        # "---\nlang: ko\n---\n" is 17 units long; the sentence has 16 characters, its palm tree two units.
        expected_spans=[{"note_path": "휴가.md", "start": 17, "end": 34}],
        language="ko",
    ),
    query_row("across", "배포 요일", "deploy.md", language="ko-KR"),
    query_row("nothing", "zebra", language="en"),
    query_row("trap", "price of roses", language="en"),
]

PRICES = '[models."{}"]\nprompt = 1\ncompletion = 2\n'  # a microdollar and two a token

MakeOptions = Callable[..., SearchEvalOptions]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The vault of `NOTES`."""
    return write_files(tmp_path / "vault", NOTES)


def _options_in(
    folder: Path, rows: list[dict[str, object] | str] | None = None, **changes: object
) -> SearchEvalOptions:
    vault = folder / "vault"
    if not vault.exists():
        write_files(vault, NOTES)
    dataset = write_rows(folder / "queries.jsonl", QUERIES if rows is None else rows)
    settings: dict[str, object] = {
        "dataset": dataset,
        "notes": vault,
        "out": folder / "out",
        "mode": "keyword",
        "speed_passes": 0,
        "cache_dir": folder / "cache",
    }
    return SearchEvalOptions.model_validate(settings | changes)


@pytest.fixture(scope="session")
def options_in() -> MakeOptions:
    """Options of a keyword run in a folder, of `QUERIES` (or other rows, dicts or raw lines) over the vault."""
    return _options_in


@pytest.fixture
def make_options(tmp_path: Path, notes: Path) -> MakeOptions:
    """The same in the folder of the test."""
    del notes  # written
    return partial(_options_in, tmp_path)


@pytest.fixture
def by_models(
    make_options: MakeOptions, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> MakeOptions:
    """Options of a run that asks models of known price over HTTP, one request at a time."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def options(*models: str, **changes: object) -> SearchEvalOptions:
        prices = tmp_path / "prices.toml"
        prices.write_text("".join(map(PRICES.format, models)), encoding="utf-8")
        settings: dict[str, object] = {
            "api_base": server.url,
            "min_coverage": 0.0,
            "prices": prices,
            "max_in_flight": 1,
            "model_timeout_s": 60,  # both given: no speed is measured
            "warmup": 0,
            "max_concurrency": 1,
        }
        return make_options(**(settings | changes))

    return options


@pytest.fixture
def by_model(by_models: MakeOptions) -> MakeOptions:
    """Options of a run that a model judges over HTTP, which behaves as said."""

    def options(behaviour: str = "", **changes: object) -> SearchEvalOptions:
        model = f"openai/judge{behaviour}"
        return by_models(model, **({"unanswerable_mode": "llm", "model": model} | changes))

    return options
