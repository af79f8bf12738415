"""Hashes over values: equal content has an equal hash, however it is held."""

import pytest

from carryover.tasks.runtime.inside.namespace import hash_state, heal

HUGE = 1 << 5000


@pytest.mark.parametrize("part", [7, 1 << 70, HUGE, 1.5, "text", None, True, (1, 2)])
def test_long_list_is_hashed_by_content(part):
    """A list of more than a hundred parts is looked at as a whole before its parts are."""
    shared, apart = [part] * 150, [part] * 75 + [part] * 75
    assert hash_state({"x": shared}) == hash_state({"x": apart}) != hash_state({"x": [*shared, part]})


def test_huge_integer_in_many_places_is_hashed_once():
    assert hash_state({"x": [HUGE] * 50_000}) == hash_state({"x": [1 << 5000 for _ in range(50_000)]})


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), ("1", b"1"), ((1,), [1])])
def test_types_tell_values_apart(one, other):
    assert hash_state({"x": [one] * 200}) != hash_state({"x": [other] * 200})


def test_a_container_within_itself_has_a_hash():
    within = []
    within.append(within)
    assert hash_state({"x": within}) != hash_state({})
    assert hash_state({"x": [within]}) != hash_state({"x": [[]]})


def test_a_container_of_too_many_parts_is_told_by_name():
    large = [[number] for number in range(60_000)]
    assert hash_state({"few": large[:100], "many": large}).endswith("; too large: many")
    assert hash_state({"few": large[:100]}).isalnum()


def test_names_that_hide_builtins_are_dropped_in_order():
    hiding = ["abs", "all", "any", "bin", "len", "max", "min", "sum"]
    namespace = dict.fromkeys([*reversed(hiding), "rows", "inspect"])
    tools = {"inspect": print, "finish": print}
    assert heal(namespace, tools) == (hiding, ["inspect"])
    assert namespace == {"rows": None, **tools}
