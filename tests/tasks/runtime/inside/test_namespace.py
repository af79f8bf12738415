"""Hashes over values: equal content has an equal hash, however it is held."""

import builtins
import types
from typing import Any

import pytest

from carryover.tasks.runtime.inside import namespace as names
from carryover.tasks.runtime.inside.namespace import drop_excess, hash_state, heal, user_values

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


LOOPED: list[Any] = [1]
LOOPED.append([LOOPED, "x" * 2000])
SHARED = ["y" * 2000, {"k": (1, 2.5)}]
KEPT = {
    "nothing": ({}, "cae66941d9efbd404e4d88758ea67670"),
    "a number and a text": ({"a": 1, "b": "x"}, "e767e68e00e8d34253841323b48e4e25"),
    "what has no hash": (
        {"a": {1}, "b": print, "c": [{1}], "d": [1, object()], "e": 2.5},
        "644a71a7d7c912728e3457fba4b8a3f7",
    ),
    "constants": ({"a": [None, True, 1j, 2.5, b"x", "y", 7]}, "c05c431f8dd2e7a4976b9f063b58ad14"),
    "a short text": ({"a": "x" * 1000}, "27059f7bb840aebdbdb2d62ab4160d79"),
    "a long text": ({"a": "x" * 1001}, "a291ef9ba6dc5898f99a2668efcf08e0"),
    "long bytes": ({"a": b"x" * 1001}, "c02c1f994e20c19a9378ffde1acd67b1"),
    "a name that is no text": ({"\ud800": 1}, "a6a657bb9f143b6a804298557fb9e53e"),
    "an integer": ({"a": (1 << 62) - 1}, "19e8161db30f4d587479c9e59f567107"),
    "a large integer": ({"a": 1 << 62}, "5600e1b53e983b18b98f7c413c3271b9"),
    "a low integer": ({"a": -(1 << 62)}, "15b17ad069f82f5618d277db9a690dcf"),
    "large integers": ({"a": [1 << 62, -(1 << 62), 1 << 30, -1]}, "c5afb9c0a40b12751ee976a0c7854c79"),
    "long list of numbers": ({"a": [1.5] * 101, "b": [1 << 70] * 101}, "13cde5d06575c666f3da13f1d0ac05f9"),
    "long list of other parts": (
        {"a": [1, 1.5] * 60, "b": [True] * 101, "c": [HUGE] * 101},
        "c11a6886197ed94ec39b15212f5396fd",
    ),
    "nested": ({"a": {"b": [1, (2, [3])]}, "c": [[], (), {}]}, "6cfe151187899a6072bd8a72e39960f7"),
    "many parts": ({"a": [0, *([number] for number in range(6_666))]}, "701c53a74d0296ee3d7572fcebacedf6"),
    "a part too many": ({"a": [0, 0, *([number] for number in range(6_666))]}, "6dcc6f8ded8529f0dfb2af1f24e918c6"),
    "a long value": ({"a": {"k": "v" * 1001}}, "6abf4d20d0526784ea59dfcdafd96e9d"),
    "numbers and a text": ({"a": [1] * 101 + ["v" * 1001]}, "8bcc6406c717a631520ccbe276de1a96"),
    "a loop": ({"a": LOOPED}, "75c72a513ba8c52ee004439f4a9ac040"),
    "shared parts": ({"a": [SHARED, SHARED, {"z" * 1001: SHARED}]}, "00843bcbdf44f81ed02451c6d021638a"),
    "long texts within": ({"a": {"k" * 1001: "v" * 1001}}, "5417083e439f4bba5e11b60fb1e3137f"),
}


@pytest.mark.parametrize(("values", "digest"), KEPT.values(), ids=KEPT)
def test_digests_stay_what_recorded_episodes_hold(values, digest):
    assert hash_state(values) == digest


def test_names_of_large_values_are_cut(monkeypatch):
    monkeypatch.setattr(names, "_PARTS_LIMIT", 3)
    monkeypatch.setattr(names, "_SMALL_PARTS", 3)
    digest, _, note = hash_state({"a": [1] * 4, "b": [[1]], "c": ["x" * 4000], "d": [1] * 3}).partition("; ")
    assert (len(digest), note) == (32, "too large: a, c")
    _, _, note = hash_state({f"n{number}": [1] * 4 for number in range(100)}).partition("; ")
    assert (note[:18], len(note)) == ("too large: n0, n1,", 198)


def test_user_s_names_are_sorted_without_tools_and_modules():
    class Posing:
        @property
        def __class__(self):  # pyright: ignore[reportIncompatibleMethodOverride]
            raise AssertionError("the value's own code ran")

    posing = Posing()
    namespace: dict[Any, Any] = {
        "b": 1, "a": posing, "_c": None, "tool": 1, "__doc__": 1, "module": types, "no name": 1, 5: 1,
        "own": type("Own", (types.ModuleType,), {})("own"),
    }  # fmt: skip
    found = user_values(namespace, {"tool": print})
    assert list(found) == ["_c", "a", "b"]
    assert found["a"] is posing


def test_bound_tools_are_told_unless_special_or_missing():
    own = {"inspect": print, "finish": len, "__builtins__": builtins, "kept": max}
    namespace = {"finish": 1, "inspect": None, "__builtins__": None, "kept": max}
    assert heal(namespace, own) == ([], ["finish", "inspect"])
    assert namespace == own
    assert heal({}, own) == ([], [])


def test_names_beyond_a_length_are_dropped():
    namespace = {"a" * 60_000: 1, "b" * 40_000: 2}
    values = dict(namespace)
    assert drop_excess(namespace, values) == 0
    namespace |= {"c": 3, "d": 4}
    values |= {"c": 3, "d": 4}
    assert drop_excess(namespace, values) == 2
    assert namespace == values == {"a" * 60_000: 1, "b" * 40_000: 2}
