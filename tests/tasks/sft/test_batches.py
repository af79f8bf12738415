"""Batches of conversations of like length."""

from carryover.tasks.sft.batches import LengthBatches, group_by_length, right_padded
from tests.flattening import flat


def test_every_row_is_in_one_batch_within_the_budget():
    lengths = [10, 90, 30, 20, 100, 250, 40, 60] * 50
    batches = group_by_length(lengths, token_budget=200, seed=1)
    assert sorted(flat(batches)) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= 200


def test_neighbours_in_length_share_a_batch():
    assert group_by_length([5, 50, 5, 50], token_budget=100, seed=0) in ([[0, 2], [1, 3]], [[2, 0], [3, 1]])


def test_an_epoch_changes_the_order_and_nothing_else():
    lengths = list(range(10, 60))
    batches = LengthBatches(lengths, token_budget=120, seed=3)
    first = list(batches)
    batches.set_epoch(1)
    second = list(batches)
    assert first != second
    assert sorted(first) == sorted(second)
    assert len(batches) == len(first)
    batches.set_epoch(0)
    assert list(batches) == first


def test_the_seed_decides_the_batches():
    lengths = list(range(10, 60)) * 10
    one, same, other = (list(LengthBatches(lengths, token_budget=120, seed=seed)) for seed in (3, 3, 4))
    assert one == same
    assert sorted(one) != sorted(other)


def test_padding_is_on_the_right_and_has_no_label():
    batch = right_padded(9)([{"input_ids": [1, 2, 3], "labels": [-100, 2, 3]}, {"input_ids": [4], "labels": [4]}])
    assert batch["input_ids"].tolist() == [[1, 2, 3], [4, 9, 9]]
    assert batch["labels"].tolist() == [[-100, 2, 3], [4, -100, -100]]
    assert batch["position_ids"].tolist() == [[0, 1, 2]]
    assert set(batch) == {"input_ids", "labels", "position_ids"}


def test_no_batch_is_empty_where_every_row_exceeds_the_budget():
    assert group_by_length([300, 250], token_budget=200, seed=0) == [[1], [0]]
