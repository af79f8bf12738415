"""Functions made of MCP tools: parameters, documentation, results."""

import asyncio
import base64
import inspect

import numpy
import pytest

from carryover.tasks.cave.mcp_functions import ListedTool, function_of, identifier_of, value_of
from carryover.tasks.runtime.inside.tools import ToolInvocationException, ToolRuntimeException

SEARCH = ListedTool(
    "search-files",
    "Search files by their text.",
    {
        "properties": {
            "limit": {"type": "integer", "default": 10},
            "text": {"type": "string", "description": "What to look for."},
            "order": {"enum": ["name", "age"]},
            "max-depth": {"type": "integer", "description": "Folders to descend."},
        },
        "required": ["text"],
    },
)


def called_with(tool, *arguments, **keywords):
    """Return the arguments that reach the server."""
    calls = []

    async def note(name, given):
        calls.append((name, given))
        return {"content": []}

    async def call():
        await function_of(tool, note)(*arguments, **keywords)

    asyncio.run(call())
    return calls


async def refuse(_name, _given):
    raise AssertionError("nothing is called")


def test_a_schema_becomes_a_signature():
    function = function_of(SEARCH, refuse)
    assert str(inspect.signature(function)) == "(text: str, limit: int = 10, order=None, **others)"
    assert (function.__name__, function.__annotations__) == ("search_files", {"text": str, "limit": int})


def test_a_schema_that_says_little_becomes_a_signature():
    declared = {"class": {}, "others": {}, "a": {"type": ["string", "null"]}, "b": {"type": "null", "default": 0}}
    function = function_of(ListedTool("t", schema={"properties": declared, "required": ["b"]}), refuse)
    assert str(inspect.signature(function)) == "(b, a=None, **others)"
    assert (function.__annotations__, function.__doc__) == ({}, "class\nothers")
    anything = function_of(ListedTool("t", " Does it. ", {"additionalProperties": True}), refuse)
    assert (str(inspect.signature(anything)), anything.__doc__) == ("(**others)", "Does it.")
    nothing = function_of(ListedTool("t", schema={"properties": None, "additionalProperties": False}), refuse)
    assert str(inspect.signature(nothing)) == "()"


def test_every_json_type_has_its_python_type():
    kinds = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}
    function = function_of(ListedTool("t", schema={"properties": {kind: {"type": kind} for kind in kinds}}), refuse)
    assert function.__annotations__ == kinds


def test_choices_stand_behind_a_description():
    properties = {"a": {"description": "How.", "enum": [1, "x"]}, "b": {"description": "Why: "}, "c": {}}
    function = function_of(ListedTool("t", schema={"properties": properties}), refuse)
    assert function.__doc__ == 'a: How. One of 1, "x".\nb: Why'


def test_documentation_names_choices_and_odd_arguments():
    assert inspect.getdoc(function_of(SEARCH, refuse)) == (
        "Search files by their text.\n"
        "text: What to look for.\n"
        'order: One of "name", "age".\n'
        "max-depth: Folders to descend."
    )


def test_only_given_arguments_reach_the_server():
    assert called_with(SEARCH, "x") == [("search-files", {"text": "x"})]
    assert called_with(SEARCH, "x", **{"max-depth": 2}) == [("search-files", {"text": "x", "max-depth": 2})]


def test_arrays_reach_the_server_as_lists():
    tool = ListedTool("mean", schema={"properties": {"numbers": {"type": "array"}, "weight": {"type": "number"}}})
    assert called_with(tool, numpy.array([1, 2]), numpy.float64(0.5)) == [("mean", {"numbers": [1, 2], "weight": 0.5})]


def test_arguments_that_are_not_json_are_refused():
    with pytest.raises(ToolInvocationException, match="search-files: the arguments are not JSON: object"):
        called_with(SEARCH, object())


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("get-time", "get_time"),
        ("files/read.text", "files_read_text"),
        ("2d", "_2d"),
        ("class", "_class"),
        ("x2", "x2"),
    ],
)
def test_tool_names_become_identifiers(name, identifier):
    assert identifier_of(name) == identifier


PICTURE = {"type": "image", "data": base64.b64encode(b"png").decode(), "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"content": []}, None),
        ({}, None),
        ({"content": None, "structuredContent": None}, None),
        ({"content": [{"type": "audio", "data": PICTURE["data"]}]}, b"png"),
        ({"content": [], "structuredContent": ["result"]}, ["result"]),
        ({"content": [], "structuredContent": {}}, {}),
        ({"content": [{"type": "text", "text": "a"}]}, "a"),
        ({"content": [{"type": "text", "text": "a"}, PICTURE]}, ["a", b"png"]),
        ({"content": [{"type": "resource", "resource": {"uri": "a", "text": "b"}}]}, "b"),
        ({"content": [{"type": "resource", "resource": {"uri": "a", "blob": PICTURE["data"]}}]}, b"png"),
        ({"content": [LINK]}, LINK),
        ({"content": [], "structuredContent": {"result": 3}}, 3),
        ({"content": [{"type": "text", "text": "{}"}], "structuredContent": {"result": 3, "unit": "m"}},
         {"result": 3, "unit": "m"}),
    ],
)  # fmt: skip
def test_results_become_values(result, value):
    assert value_of("tool", result) == value


def test_an_error_result_raises_its_text():
    with pytest.raises(ToolRuntimeException, match="no such file"):
        value_of("read", {"isError": True, "content": [{"type": "text", "text": "no such file"}]})
    parts = [{"type": "text", "text": "half of it:"}, PICTURE]
    with pytest.raises(ToolRuntimeException, match=r"^half of it:\nb'png'$"):
        value_of("read", {"isError": True, "content": parts})
    with pytest.raises(ToolRuntimeException, match="read failed without a message"):
        value_of("read", {"isError": True})
