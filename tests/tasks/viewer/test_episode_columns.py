"""Episodes as columns, and every kind of number that one may hold."""

import numpy as np
import pyarrow as pa
import pytest

from carryover.tasks.viewer.episode_columns import episode_columns, packed_numbers
from tests.tasks.viewer.asking import MadeUp
from tests.tasks.viewer.packed_columns import unpacked_numbers, unpacked_words

TABLE = pa.table(
    {
        "episode_id": ["a", "b", "c"],
        "condition": pa.chunked_array([["P->S", None], ["P->P"]], pa.string()),
        "turn_count": pa.chunked_array([[1, 300], [2]]),
        "score": [0.123456, None, 1.0],
        "total_tokens": pa.array([5, None, 6], pa.int64()),
    }
)


def test_a_column_is_ids_words_or_numbers():
    ask = MadeUp(episodes=TABLE)
    told = episode_columns(ask, "plan")
    assert ask.asked == [("episodes", {"plan_digest": "plan"})]
    columns = told["columns"]
    assert (told["count"], [*columns], columns["episode_id"]) == (3, TABLE.column_names, ["a", "b", "c"])
    assert columns["condition"]["values"] == ["P->S", "P->P"]
    assert unpacked_numbers(columns["condition"]["codes"]) == [0, -1, 1]
    kinds = {name: columns[name]["kind"] for name in ("turn_count", "score", "total_tokens")}
    assert kinds == {"turn_count": "int16", "score": "float64", "total_tokens": "float64"}
    assert unpacked_numbers(columns["turn_count"]) == [1, 300, 2]
    np.testing.assert_array_equal(unpacked_numbers(columns["score"]), [0.1235, np.nan, 1.0])
    np.testing.assert_array_equal(unpacked_numbers(columns["total_tokens"]), [5, np.nan, 6])


@pytest.mark.parametrize(("chosen", "words"), [(["c", "a"], ["P->S", "P->P"]), (["z"], []), ([], [])])
def test_chosen_episodes_stay_in_their_order(chosen, words):
    told = episode_columns(MadeUp(episodes=TABLE), "plan", chosen)
    assert told["count"] == len(words)
    assert unpacked_words(told["columns"]["condition"]) == words


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        ([-(2**7), 2**7 - 1], "int8"),
        ([-(2**7) - 1], "int16"),
        ([2**7], "int16"),
        ([-(2**15), 2**15 - 1], "int16"),
        ([2**15], "int32"),
        ([-(2**31), 2**31 - 1], "int32"),
        ([2**31], "float64"),
        ([0.5], "float64"),
        ([], "float64"),
    ],
)
def test_numbers_travel_as_the_smallest_kind_that_holds_them(numbers, kind):
    packed = packed_numbers(np.array(numbers, None if numbers else np.int64))
    assert packed["kind"] == kind
    assert unpacked_numbers(packed) == numbers
