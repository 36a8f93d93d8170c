"""What `--dry-run` foretells."""

import pytest

from gigamind.errors import InputError
from gigamind.tasks.search.judging import estimate
from gigamind.tasks.search.prepare import prepare


@pytest.fixture
def foretold(make_options, tmp_path):
    """The estimates of a run over five notes and six queries, one of which finds nothing."""

    def of(**changes):
        prices = tmp_path / "prices.toml"
        prices.write_text('[models."openai/x"]\nprompt = 1\ncompletion = 2\n', encoding="utf-8")
        return estimate(prepare(make_options(**({"prices": prices} | changes))))

    return of


MODEL = {"unanswerable_mode": "llm", "model": "openai/x"}


@pytest.mark.parametrize("mode", ["threshold", "calibrated"])
def test_a_run_that_asks_no_model_costs_nothing_and_says_so(foretold, mode):
    (one,) = foretold(unanswerable_mode=mode)
    assert mode in one.what
    assert one.describe().endswith(": 0 USD, 1 s")


def test_a_limit_a_minute_makes_the_run_longer(foretold):
    (free,) = foretold(**MODEL)
    assert free.seconds == (1.0, 8.0)  # 5 requests at once
    (slow,) = foretold(**MODEL, requests_per_minute=2)
    assert slow.seconds == (150.0, 150.0)
    (few,) = foretold(**MODEL, tokens_per_minute=60)
    assert few.seconds == tuple(map(float, few.tokens))  # a token a second
    (again,) = foretold(**MODEL, fresh_fraction=0.5)
    assert (free.calls, again.calls) == (5, 8)


def test_a_limit_in_dollars_that_cannot_be_kept_is_said_before_the_run(foretold):
    (unknown,) = foretold(**MODEL | {"model": "openai/unheard-of"})
    assert unknown.usd is None
    with pytest.raises(InputError, match="--max-cost-usd"):
        foretold(**MODEL | {"model": "openai/unheard-of"}, max_cost_usd=1.0)
    (priced,) = foretold(**MODEL, max_cost_usd=1.0)
    assert priced.usd is not None
