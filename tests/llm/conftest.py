import asyncio
import inspect
from collections.abc import Iterator

import pytest
from asked_model import Asked, reply_to
from batch_runs import Runner

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.ledger import Price
from gigamind.llm.settings import ModelSettings


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test may be a coroutine."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.close()


@pytest.fixture
def settings_of(fake):
    """Settings of a model that behaves as told; patient ones, for a busy machine answers late."""

    def settings(behaviour="", **changes):
        given = {"timeout_s": 20, "attempts": 3, "backoff_s": 0.001, "api_base": fake.url}
        return ModelSettings(f"openai/judge{behaviour}", **(given | changes))

    return settings


@pytest.fixture
def connected(settings_of):
    """A model that behaves as told; its prompt tokens cost 1 USD a million, its answers 2, cached ones 0.5."""

    def connect_to(
        behaviour="",
        *,
        priced=True,
        store=None,
        budget=None,
        ledger=None,
        limiters=None,
        **changes,
    ):
        settings = settings_of(behaviour, **changes)
        price = Price(prompt=1_000_000, completion=2_000_000, cached=500_000)
        prices = {settings.model: price} if priced else {}
        kept = {"store": store, "budget": budget, "ledger": ledger, "limiters": limiters}
        return LanguageModel(settings, prices=prices, **kept)

    return connect_to


@pytest.fixture
def ask(connected):
    """Asks a model that behaves as told one question, and tells how it ended."""

    def asked(behaviour="", content="Is it so?", **changes):
        model = connected(behaviour, **changes)

        async def once() -> Asked:
            reply, error = None, None
            try:
                reply = await reply_to(model, content)
            except LlmError as raised:
                error = raised
            await model.close()
            return Asked(reply, error, model.ledger.rows, model.ledger.totals())

        return asyncio.run(once())

    return asked
