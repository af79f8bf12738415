"""Counting packed sequences as the trainer packs."""

import random

import pytest

from carryover.tasks.sft.packing import packed_count


def test_each_goes_where_it_fits_best():
    # 7 | 6 | 3 joins the 7 | 3 joins the 6 | 2 opens a third
    assert packed_count([3, 7, 2, 6, 3], 10) == 3
    assert packed_count([10, 10], 10) == 2
    assert packed_count([], 10) == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_count_is_the_trainers(seed):
    from datasets import Dataset
    from trl.data_utils import pack_dataset

    draw = random.Random(seed)
    lengths = [draw.randint(1, 50) for _ in range(200)]
    rows = Dataset.from_dict({"input_ids": [[0] * length for length in lengths]})
    assert packed_count(lengths, 64) == len(pack_dataset(rows, 64, "bfd"))
