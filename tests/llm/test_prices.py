import pytest
from hypothesis import given
from hypothesis import strategies as st

from gigamind.errors import InputError
from gigamind.llm.client import Usage
from gigamind.llm.ledger import Price, micro_usd, price_of, read_prices


def test_a_price_of_a_file_is_exact(text_file):
    path = text_file('[models."openai/x"]\nprompt = 0.15\ncompletion = 0.6\ncached = 0.075\n')
    assert read_prices(path) == {"openai/x": Price(150_000, 600_000, 75_000)}


def test_cached_tokens_cost_the_same_as_others_unless_said(text_file):
    path = text_file("[models.m]\nprompt = 2\ncompletion = 8\n")
    assert read_prices(path)["m"] == Price(2_000_000, 8_000_000, 2_000_000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[models.m]\nprompt = 2\n", "models.m.completion"),
        ("[models.m]\nprompt = -1\ncompletion = 1\n", "models.m.prompt"),
        ("[models.m]\nprompt = nan\ncompletion = 1\n", "models.m.prompt"),
        ("[models.m]\nprompt = 1\ncompletion = 1\ncache = 1\n", "models.m.cache"),
        ("models = 3\n", "models"),
        ("nonsense", "file.txt: "),
    ],
)
def test_a_file_with_anything_else_is_refused_with_the_place(text_file, text, message):
    with pytest.raises(InputError, match=message):
        read_prices(text_file(text))


def test_a_file_that_is_absent_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"none.toml: "):
        read_prices(tmp_path / "none.toml")


def test_tokens_that_are_put_into_a_cache_cost_a_quarter_more_unless_said(text_file):
    row = "[models.m]\nprompt = 2\ncompletion = 8\ncached = 0.2\n"
    usage = Usage(1000, 0, 300, 600)
    assert read_prices(text_file(row))["m"].cost_pico_usd(usage) == 260_000_000 + 1_500_000_000
    named = read_prices(text_file(row + "written = 4\n"))["m"]
    assert named.cost_pico_usd(usage) == 260_000_000 + 2_400_000_000


def test_a_request_in_a_batch_costs_half_and_never_less():
    assert Price(3, 4, 1, written=5).halved() == Price(2, 2, 1, written=3)
    own = {"m": Price(2_000_000, 8_000_000, 1_000_000)}
    assert price_of("m", own, batch=True) == Price(1_000_000, 4_000_000, 500_000)


@pytest.mark.parametrize(
    ("model", "prompt", "completion", "cached", "written"),
    [
        # Listed for batches; cached tokens have no price of their own there.
        ("openai/gpt-4o-mini", 75_000, 300_000, 75_000, None),
        # Not listed: half, and what flex asks for cached tokens.
        ("openai/gpt-5-mini", 125_000, 1_000_000, 12_500, None),
        ("anthropic/claude-sonnet-4-5", 1_500_000, 7_500_000, 150_000, 1_875_000),
    ],
)
def test_the_price_of_a_batch_is_that_of_the_table(model, prompt, completion, cached, written):
    price = price_of(model, {}, batch=True)
    assert price == Price(prompt, completion, cached, source="litellm", written=written)


@pytest.mark.parametrize(
    ("pico", "micro"), [(0, 0), (499_999, 0), (500_000, 1), (1_499_999, 1), (1_500_000, 2)]
)
def test_a_sum_is_rounded_half_up(pico, micro):
    assert micro_usd(pico) == micro


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=20))
def test_the_cost_of_many_is_the_sum_of_their_costs(answers):
    price = Price(37_500, 150_000, 37_500)
    whole = Usage(sum(p for p, _ in answers), sum(c for _, c in answers))
    assert price.cost_pico_usd(whole) == sum(price.cost_pico_usd(Usage(p, c)) for p, c in answers)


def test_the_own_price_comes_before_that_of_litellm():
    own = Price(1, 2, 3)
    assert price_of("openai/gpt-4o-mini", {"openai/gpt-4o-mini": own}) is own
    assert price_of("openai/gpt-4o-mini", {}) == Price(150_000, 600_000, 75_000, "litellm")


def test_a_model_that_nobody_lists_has_no_price_unless_this_machine_serves_it():
    model, free = "openai/of-our-own", Price(0, 0, 0, "local")
    for here in ("http://127.0.0.1:8911/v1", "http://localhost:11434", "http://[::1]:1/v1"):
        assert price_of(model, {}, api_base=here) == free
    for elsewhere in (None, "http://10.0.0.1/v1", "http://localhost.example/v1"):
        assert price_of(model, {}, api_base=elsewhere) is None


def test_what_a_gateway_on_this_machine_passes_on_has_the_price_that_the_caller_gives():
    here, price = "http://127.0.0.1:4000/v1", Price(1, 2, 1)
    assert price_of("openai/gpt-4o-mini", {}, api_base=here).source == "local"
    assert price_of("openai/gpt-4o-mini", {"openai/gpt-4o-mini": price}, api_base=here) == price
    away = "https://gateway.invalid/v1"
    assert price_of("openai/gpt-4o-mini", {}, api_base=away).source == "litellm"
