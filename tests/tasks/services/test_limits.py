import pytest

from carryover.tasks.services.limits import (
    InterruptedRunError,
    LimitReachedError,
    Meter,
    Prices,
    Spent,
    check_uninterrupted,
    interrupt,
)


def test_cost_prices_fresh_cached_and_completion_tokens_apart():
    prices = Prices(prompt=2.0, cached_prompt=0.5, completion=10.0)
    spent = Spent(prompt_tokens=1_500_000, cached_prompt_tokens=500_000, completion_tokens=100_000)
    assert prices.cost(spent) == 2.0 + 0.25 + 1.0


@pytest.mark.parametrize(
    ("prices", "is_free"),
    [
        (Prices(), True),
        (Prices(cached_prompt=0.0), True),
        (Prices(prompt=1.0), False),
        (Prices(cached_prompt=1.0), False),
        (Prices(completion=1.0), False),
    ],
)
def test_prices_are_free_if_nothing_has_one(prices, is_free):
    assert prices.is_free == is_free


@pytest.mark.parametrize(("cached_prompt", "cost"), [(None, 0.5), (0.0, 0.05), (0.05, 0.095)])
def test_cached_tokens_without_a_price_cost_as_fresh_ones(cached_prompt, cost):
    spent = Spent(prompt_tokens=1_000_000, cached_prompt_tokens=900_000)
    assert Prices(prompt=0.5, cached_prompt=cached_prompt, completion=3.0).cost(spent) == pytest.approx(cost)


def test_meter_stops_at_the_token_limit_counting_earlier_runs():
    meter = Meter(Spent(900, 0, 50), Spent(), Prices(), max_tokens_total=1000, max_cost=None)
    meter.check()
    meter.add(Spent(40, 0, 10), is_billed=False)
    with pytest.raises(LimitReachedError, match=r"1,000 tokens are spent of max_tokens_total 1,000"):
        meter.check()


def test_meter_stops_at_the_cost_limit():
    meter = Meter(Spent(), Spent(), Prices(completion=1.0), max_tokens_total=None, max_cost=0.5)
    meter.add(Spent(completion_tokens=500_000), is_billed=True)
    with pytest.raises(LimitReachedError, match=r"0\.50 is spent of max_cost 0\.50"):
        meter.check()
    meter.check(is_billed=False)


def test_tokens_of_the_study_s_own_server_cost_nothing():
    meter = Meter(Spent(10**9, 0, 0), Spent(), Prices(prompt=1.0), max_tokens_total=None, max_cost=0.5)
    meter.add(Spent(10**9, 0, 0), is_billed=False)
    meter.check()


def test_no_limit_never_stops():
    meter = Meter(
        Spent(10**12, 0, 10**12), Spent(10**12, 0, 10**12), Prices(prompt=1.0), max_tokens_total=None, max_cost=None
    )
    meter.check()


def test_a_stopped_meter_lets_nothing_start_and_says_why():
    meter = Meter(Spent(), Spent(), Prices(), max_tokens_total=None, max_cost=None)
    first = RuntimeError("an interpreter broke its contract")
    meter.stop(first)
    meter.stop(RuntimeError("a later one"))
    with pytest.raises(RuntimeError) as raised:
        meter.check()
    assert raised.value is first


def test_interrupted_run_alone_is_stopped():
    interrupt("stopped-run")
    check_uninterrupted("other-run")
    with pytest.raises(InterruptedRunError, match="run stopped-run is interrupted; progress is saved; run again"):
        check_uninterrupted("stopped-run")
