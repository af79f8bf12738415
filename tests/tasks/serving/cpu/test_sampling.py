import pytest

from carryover.tasks.serving.cpu.sampling import SamplingParameters, choose_tokens


@pytest.fixture
def logits(torch):
    """Logits of probabilities 0.5, 0.3 and 0.2."""
    return torch.tensor([[0.5, 0.3, 0.2]]).log()


def choose(logits, uniform, **settings):
    (token,) = choose_tokens(logits, [SamplingParameters(max_tokens=1, **settings)], [uniform]).tokens
    return token


def is_close(logits, uniform, **settings):
    (close,) = choose_tokens(logits, [SamplingParameters(max_tokens=1, **settings)], [uniform]).is_close
    return close


@pytest.mark.parametrize(("uniform", "token"), [(0.0, 0), (0.49, 0), (0.51, 1), (0.79, 1), (0.81, 2), (0.999, 2)])
def test_a_number_falls_in_the_interval_of_its_token(logits, uniform, token):
    assert choose(logits, uniform) == token


def test_temperature_zero_takes_the_most_likely_token_whatever_the_number(torch):
    assert choose(torch.tensor([[0.0, 3.0, 1.0]]), 0.999, temperature=0.0) == 1


def test_a_low_temperature_sharpens_the_distribution(logits):
    # At temperature 0.5 the probabilities are squared: 25, 9 and 4 of 38.
    assert choose(logits, 0.65, temperature=0.5) == 0
    assert choose(logits, 0.67, temperature=0.5) == 1


def test_top_p_keeps_the_smallest_set_that_holds_the_share(logits):
    # 0.5 alone holds less than 0.6, so two tokens stay, with 5/8 and 3/8 of the probability.
    assert choose(logits, 0.62, top_p=0.6) == 0
    assert choose(logits, 0.999, top_p=0.6) == 1


def test_a_token_without_probability_is_never_chosen(torch):
    logits = torch.tensor([[float("-inf"), 0.0, float("-inf"), 0.0]])
    assert choose(logits, 0.0) == 1
    assert choose(logits, 0.5) == 3


def test_rows_of_one_batch_keep_their_own_settings(logits):
    greedy, sampled = SamplingParameters(1, temperature=0.0), SamplingParameters(1)
    assert choose_tokens(logits.repeat(3, 1), [greedy, sampled, sampled], [0.9, 0.9, 0.1]).tokens == [0, 2, 0]


@pytest.mark.parametrize(
    ("uniform", "close"),
    [
        (0.0, False),
        (0.3, False),
        (0.5 - 1e-5, True),
        (0.5 + 1e-5, True),
        (0.8 + 1e-5, True),
        (0.81, False),
        (1.0, False),
    ],
)
def test_a_draw_beside_another_token_is_close(logits, uniform, close):
    assert is_close(logits, uniform) == close
    assert not is_close(logits, 1 - 1e-9)


@pytest.mark.parametrize(("second", "close"), [(3.0 - 1e-4, True), (2.9, False)])
def test_two_likely_tokens_are_close_at_temperature_zero(torch, second, close):
    assert is_close(torch.tensor([[0.0, 3.0, second]]), 0.5, temperature=0.0) == close


@pytest.mark.parametrize(("top_p", "close"), [(0.5 + 1e-5, True), (0.6, False), (1.0, False)])
def test_a_token_that_may_leave_the_kept_set_is_close(logits, top_p, close):
    assert is_close(logits, 0.3, top_p=top_p) == close
