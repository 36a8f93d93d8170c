"""A server that allows five at a time and answers 429 beyond is not stormed, and no question is lost."""

from asked_model import ends_of


def test_a_server_that_allows_five_at_a_time_gets_few_calls_in_vain(connected, fake):
    model = connected(";allowed=5;lat=20;ra=0.05", attempts=5, backoff_s=0.01, timeout_s=10)

    assert ends_of(model, 80) == [None] * 80

    assert fake.seen.total <= 1.3 * 80
    assert fake.seen.most_in_flight == 5
