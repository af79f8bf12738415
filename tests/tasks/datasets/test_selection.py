from itertools import product

import polars as pl
import pytest

from carryover.tasks.datasets.conversations import TrainingMessage
from carryover.tasks.datasets.dataset_spec import DatasetSpec
from carryover.tasks.datasets.selection import order_candidates, select
from carryover.tasks.datasets.truncation import CostedMessage, Truncation

CONTRACTS = ("persistent", "stateless")
THREE_CONTRACTS = (*CONTRACTS, "injected+stateless")


def candidates_of(reasons, contracts=CONTRACTS):
    """Traces by `contract:instance` with their reason; the order is the shuffle's."""
    rows = [
        {"episode_id": name, "contract": name.split(":")[0], "instance_id": name.split(":")[1], "replicate": 0,
         "reason": reason, "measured": None, "threshold": None}
        for name, reason in reasons.items()
    ]  # fmt: skip
    return order_candidates(pl.DataFrame(rows, schema_overrides={"reason": pl.String}), contracts, seed=42)


def choose(candidates, costs=None, rejected=(), contracts=CONTRACTS, **settings):
    """Select; `costs` are the tokens per contract, `rejected` the episodes that truncation refuses."""
    prepared = []

    def prepare(batch):
        for candidate in batch:
            prepared.append(candidate.episode_id)
            if candidate.episode_id in rejected:
                candidate.reason = "trunc_head_tail_exceeds_limit"
                continue
            cost = (costs or {}).get(candidate.contract, 1)
            message = CostedMessage(TrainingMessage(role="assistant", content="done"), cost, cost)
            candidate.truncation = Truncation((message,), is_truncated=False, reason=None)

    select(candidates, contracts, DatasetSpec(**settings), prepare)
    return prepared


def statuses(candidates, contract):
    return {each.position: (each.status, each.reason) for each in candidates if each.contract == contract}


def instance_at(candidates, position):
    return next(each.instance_id for each in candidates if each.position == position)


@pytest.fixture
def order():
    """Instances in the shuffled order."""
    candidates = candidates_of({f"persistent:{name}": None for name in "abcde"})
    return [instance_at(candidates, position) for position in range(5)]


def test_traces_of_one_place_come_by_their_ids():
    place = {"contract": "persistent", "instance_id": "i", "reason": None, "measured": None, "threshold": None}
    rows = [{"episode_id": name, "replicate": replicate, **place} for replicate, name in ((0, "b"), (1, "c"), (0, "a"))]
    found = order_candidates(pl.DataFrame(rows, schema_overrides={"reason": pl.String}), CONTRACTS, seed=42)
    assert [each.episode_id for each in found if each.replicate == 0] == ["a", "b"]
    assert sorted({each.position for each in found}) == [0, 1]


def test_both_arms_follow_one_shuffle(order):
    candidates = candidates_of({f"{contract}:{name}": None for contract, name in product(CONTRACTS, "abcde")})
    assert sorted(order) == list("abcde")
    assert order != list("abcde")
    for contract in CONTRACTS:
        assert [each.instance_id for each in candidates if each.contract == contract] == order


def test_an_arm_missing_a_trace_keeps_the_others_order(order):
    reasons = {f"{contract}:{name}": None for contract, name in product(CONTRACTS, "abcde")}
    del reasons[f"stateless:{order[1]}"]
    candidates = candidates_of(reasons)
    assert [each.position for each in candidates if each.contract == "stateless"] == [0, 2, 3, 4]


def test_first_valid_traces_are_kept_and_the_rest_unprocessed(order):
    reasons = {f"{contract}:{name}": None for contract, name in product(CONTRACTS, "abcde")}
    poor = {f"persistent:{order[place]}": "score_too_low" for place in (0, 4)}
    candidates = candidates_of(reasons | poor)
    choose(candidates, maximum_kept=2)
    assert statuses(candidates, "persistent") == {
        0: ("skipped", "score_too_low"),
        1: ("retained", None),
        2: ("retained", None),
        3: ("unprocessed", None),
        4: ("unprocessed", "score_too_low"),
    }
    assert [status for status, _ in statuses(candidates, "stateless").values()] == (
        ["retained"] * 2 + ["unprocessed"] * 3
    )


def test_each_of_three_contracts_keeps_its_first_traces():
    reasons = {f"{contract}:{name}": None for contract, name in product(THREE_CONTRACTS, "abc")}
    candidates = candidates_of(reasons, THREE_CONTRACTS)
    choose(candidates, contracts=THREE_CONTRACTS, maximum_kept=2)
    for contract in THREE_CONTRACTS:
        assert [status for status, _ in statuses(candidates, contract).values()] == ["retained"] * 2 + ["unprocessed"]


def test_no_more_text_is_prepared_than_the_limit_takes(order):
    candidates = candidates_of({f"persistent:{name}": None for name in "abcde"})
    prepared = choose(candidates, rejected=[f"persistent:{order[0]}"], maximum_kept=2)
    assert prepared == [f"persistent:{name}" for name in order[:3]]
    assert statuses(candidates, "persistent")[0] == ("skipped", "trunc_head_tail_exceeds_limit")


def test_paired_retention_keeps_the_same_instances(order):
    reasons = {f"{contract}:{name}": None for contract, name in product(CONTRACTS, "abcde")}
    del reasons[f"persistent:{order[1]}"]
    candidates = candidates_of(reasons | {f"persistent:{order[0]}": "score_too_low"})
    choose(candidates, rejected=[f"stateless:{order[2]}"], retention="paired", maximum_kept=1)
    assert statuses(candidates, "persistent") == {
        0: ("skipped", "score_too_low"),
        2: ("skipped", "partner_rejected"),
        3: ("retained", None),
        4: ("unprocessed", None),
    }
    assert statuses(candidates, "stateless") == {
        0: ("skipped", "partner_rejected"),
        1: ("skipped", "partner_missing"),
        2: ("skipped", "trunc_head_tail_exceeds_limit"),
        3: ("retained", None),
        4: ("unprocessed", None),
    }


def test_token_matching_cuts_the_larger_arm_to_the_smaller():
    candidates = candidates_of({f"{contract}:{name}": None for contract, name in product(CONTRACTS, "abcde")})
    choose(candidates, costs={"persistent": 10, "stateless": 24}, matching="tokens")
    # 5 x 10 tokens against 24 a trace: two fit
    assert [status for status, _ in statuses(candidates, "persistent").values()] == ["retained"] * 5
    assert [status for status, _ in statuses(candidates, "stateless").values()] == (
        ["retained"] * 2 + ["unprocessed"] * 3
    )
