from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carryover.tasks.datasets.conversations import TrainingMessage
from carryover.tasks.datasets.truncation import CostedMessage, TokenBudget, truncate

ROLES: dict[str, Literal["system", "user", "assistant"]] = {"s": "system", "u": "user", "a": "assistant", "p": "user"}


def conversation(shape):
    """`s10 u5 a3` is a system message of cost 10, a user message of cost 5, a reply of cost 3; each one longer by 1."""
    words = shape.split()
    return [
        CostedMessage(TrainingMessage(role=ROLES[word[0]], content=f"{place}:{word}"), int(word[1:]), int(word[1:]) + 1)
        for place, word in enumerate(words)
    ]


PLACEHOLDER = CostedMessage(TrainingMessage(role="user", content="omitted:p2"), 2, 3)


def shape_of(truncation):
    return " ".join(message.message.content.split(":")[1] for message in truncation.messages)


def fit(shape, budget, length=1000):
    return truncate(conversation(shape), TokenBudget(budget, length), PLACEHOLDER)


@pytest.mark.parametrize(
    ("shape", "budget", "kept", "is_truncated"),
    [
        # it fits
        ("s10 u5 a3", 18, "s10 u5 a3", False),
        # it fits but for an observation that nobody answers
        ("s10 u5 a3 u4", 22, "s10 u5 a3", True),
        # head 15 and tail 7 leave 8: a5 fits, u4 does not fit in 3 and becomes the placeholder, a6 ends the filling,
        # and the placeholder that now comes first is dropped
        ("s10 u5 a6 u4 a5 u4 a3", 30, "s10 u5 a5 u4 a3", True),
        # budget for one more: the masked observation is followed by an older whole reply
        ("s10 u5 a6 u9 a5 u4 a3", 35, "s10 u5 a6 p2 a5 u4 a3", True),
        # the tail is the reply before a trailing observation
        ("s10 u5 a6 u4 a3 u9", 22, "s10 u5 a3", True),
        # head and tail alone
        ("s10 u5 a6 u4 a3", 22, "s10 u5 u4 a3", True),
        # several system messages belong to the head
        ("s5 s5 u5 a6 u4 a3", 22, "s5 s5 u5 u4 a3", True),
        # no task: the head is the system message alone
        ("s10 a6 u4 a3", 17, "s10 u4 a3", True),
    ],
)
def test_what_is_kept(shape, budget, kept, is_truncated):
    truncation = fit(shape, budget)
    assert truncation.reason is None
    assert shape_of(truncation) == kept
    assert truncation.is_truncated is is_truncated
    assert truncation.token_count == sum(int(word[1:]) for word in kept.split())


@pytest.mark.parametrize(
    ("shape", "budget", "reason"),
    [
        ("s10 u5 u4", 19, "fits_but_ends_with_user_unfixable"),
        ("s10 u5 a3 u4 u4", 20, "trace_ends_with_user_unfixable"),
        ("s10 u5", 14, "trace_ends_with_user_unfixable"),
        ("s10 u5 a6 u4 a3", 21, "trunc_head_tail_exceeds_limit"),
    ],
)
def test_what_is_rejected(shape, budget, reason):
    truncation = fit(shape, budget)
    assert truncation.reason == reason
    assert truncation.messages == ()


def test_a_trace_within_budget_but_too_long_is_truncated():
    # costs 33 of 33; seven messages are longer by 7, so 39 leaves out one: the oldest observation becomes the
    # placeholder, and goes, as its reply does not fit
    shape = "s10 u5 a6 u2 a5 u2 a3"
    assert shape_of(fit(shape, 33)) == shape
    assert shape_of(fit(shape, 33, length=40)) == shape
    truncation = fit(shape, 33, length=39)
    assert shape_of(truncation) == "s10 u5 a5 u2 a3"
    assert truncation.length == 25 + 5
    assert fit("s10 u5 a6 u2 a3", 100, length=23).reason == "trunc_head_tail_exceeds_limit"


@st.composite
def traces_and_budgets(draw):
    cost = st.integers(1, 30)
    systems = draw(st.lists(cost, min_size=1, max_size=3))
    turns = draw(st.lists(st.tuples(cost, st.none() | cost), min_size=1, max_size=8))
    words = [f"s{each}" for each in systems] + [f"u{draw(cost)}"]
    for reply, observation in turns:
        words.append(f"a{reply}")
        if observation is not None:
            words.append(f"u{observation}")
    return " ".join(words), draw(st.integers(1, 200)), draw(st.integers(1, 220))


@settings(derandomize=True, max_examples=200)
@given(traces_and_budgets())
def test_a_kept_trace_fits_ends_with_reply_and_invents_nothing(case):
    shape, budget, length = case
    source = conversation(shape)
    truncation = truncate(source, TokenBudget(budget, length), PLACEHOLDER)
    fits = sum(each.cost for each in source) <= budget and sum(each.length for each in source) <= length
    if fits and source[-1].message.role == "assistant":
        assert list(truncation.messages) == source  # an implementation that rejects everything fails here
    if truncation.reason:
        return
    kept = list(truncation.messages)
    assert truncation.token_count <= budget
    assert truncation.length <= length
    assert kept[-1].message.role == "assistant"
    head = next(place for place, each in enumerate(source) if each.message.role == "assistant")
    assert kept[:head] == source[:head]
    own = [each for each in kept if each is not PLACEHOLDER]
    assert [each for each in source if each in own] == own  # a subsequence, in order
    replies = [each for each in own if each.message.role == "assistant"]
    assert replies == [each for each in source if each.message.role == "assistant"][-len(replies) :]
    if not truncation.is_truncated:
        assert kept == source
