"""A session as users open it."""

from functools import partial
from typing import Any

import pytest

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.session import session

PRICES = {"tea": 3}


def search(item: str) -> int:
    """Return the price of an item."""
    return PRICES[item]


def test_three_lines_run_a_block_with_a_tool():
    with session("persistent", tools=[search], tool_call_cap=1) as opened:
        opened.run("price = search('tea')")
        result = opened.run("price * 2")
        capped = opened.run("search('tea') + search('tea')")
    assert (result.result, result.error) == ("6", None)
    assert capped.error is not None
    assert capped.error.type == "ToolCallLimitError"


def test_an_unknown_contract_names_the_choices():
    with pytest.raises(KeyError, match="unknown contract 'persistant'; choose from persistent, stateless, injected"):
        CONTRACTS["persistant"]
    with pytest.raises(ValueError, match="unknown contract 'persistant'; choose from persistent"):
        session("persistant")


def test_session_offers_all_that_an_interpreter_does(tmp_path):
    with session(seed="a") as opened:
        opened.inject("basket", [1], description="what is bought")
        snapshot = opened.snapshot()
        opened.run("basket.append(2)")
        other = opened.branch()
        other.run("basket.append(3)")
        assert (opened.retrieve("basket"), other.retrieve("basket")) == ([1, 2], [1, 2, 3])
        opened.save(tmp_path / "journal")
        assert opened.restore(snapshot) == ()
        assert opened.retrieve("basket") == [1]
        assert opened.reload(tmp_path / "journal") == ()
        assert opened.retrieve("basket") == [1, 2]
        assert [each.name for each in opened.injected] == ["basket"]
    assert snapshot.is_closed


def test_closed_session_says_that_it_is_closed():
    with session() as opened:
        opened.run("x = 1")
    with pytest.raises(ValueError, match="the interpreter is closed"):
        opened.run("x")
    with pytest.raises(ValueError, match="the interpreter is closed"):
        opened.inject("y", 1)


def test_stateless_session_forgets_names():
    with session("stateless") as opened:
        opened.run("x = 1")
        result = opened.run("x")
    assert result.error is not None
    assert result.error.type == "NameError"


def test_a_name_describes_a_contract_between_the_two():
    with session("recent-1") as opened:
        opened.run("x = 1")
        assert opened.run("x").result == "1"
        error = opened.run("x").error
        assert error is not None
        assert error.type == "NameError"


def test_unknown_contract_names_the_choices():
    words = "unknown contract 'persistant'; choose from persistent, stateless, injected, injected+persistent"
    with pytest.raises(ValueError, match=words.replace("+", r"\+")):
        session("persistant")


@pytest.mark.parametrize(
    ("tools", "words"), [([lambda: 1], "has no name"), ([search, search], "two tools are named 'search'")]
)
def test_tools_without_names_of_their_own_are_refused(tools, words):
    with pytest.raises(ValueError, match=words):
        session(tools=tools)


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        (search, r"tools is 'search' itself; pass tools=\[search\]"),
        (partial(search, "a"), r"tools is 'function' itself; pass tools=\[function\]"),
        (["search"], r"tool 'search' is no function; pass the function itself"),
        ({"search": "search"}, r"tool 'search' is no function; pass the function itself"),
    ],
)
def test_what_is_no_list_of_functions_is_named(tools: Any, words):
    with pytest.raises(TypeError, match=f"^{words}$"):
        session("persistent", tools=tools)
