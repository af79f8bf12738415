"""Code in an agent's text: calls, tags and fences, with outputs."""

import json
import re
from collections.abc import Iterator

from carryover.tasks.readers.outputs import read_outcome
from carryover.tasks.readers.raised import answered
from carryover.tasks.readers.source_code import (
    OTHER_CODE,
    PYTHON_TAGS,
    SHELL_TAGS,
    WHOLE_FENCE,
    FoundCode,
    ToolCall,
    code_in_calls,
    outdent,
)
from carryover.tasks.readers.token_calls import calls_in_tokens
from carryover.tasks.readers.trace import Block
from carryover.tasks.services.syntax import UNPARSABLE, parse_python

_BLOCK = re.compile(
    r"^(?P<indent>[ \t]*(?:(?:[-*+>]|\d+[.)])[ \t]+)*)(?P<fence>```+|~~~+)(?P<language>[^\n`]*)\n"
    r"(?P<fenced>.*?)^[ \t>]*(?P=fence)"
    r"|<(?P<tag>execute(?:_(?:i?python|bash))?|code|python|tool_code|tool_call|llm-code(?:-output)?|interpreter|output)>"
    r"(?P<tagged>.*?)</(?P=tag)>",
    re.DOTALL | re.MULTILINE,
)
_CUT_BLOCK = re.compile(
    r"<(?P<tag>execute(?:_(?:i?python|bash))?|code(?=>[ \t]*\n))>(?P<tagged>.*)"
    r"|^(?P<indent>[ \t]*)(?P<fence>```+|~~~+)(?P<language>[ \t]*\{?[.\w]+[^\n`]*)\n(?P<fenced>.*)",
    re.DOTALL | re.MULTILINE,
)
"""A block without an end: stop sequences cut the end of a tag, limits of tokens cut a fence."""
_WRITTEN_CALL = re.compile(r"<function=|<invoke |_call>")
_WRITTEN_BLOCK = re.compile(r"```|~~~|</|<execute|<code>")
_XML_CALL = re.compile(r"<function=(?P<name>[^>\s]+)>(?P<body>.*?)(?:</function>|\Z)", re.DOTALL)
_XML_PARAMETER = re.compile(r"<parameter=(?P<key>[^>\s]+)>\n?(?P<value>.*?)\n?</parameter>", re.DOTALL)
_INVOKE = re.compile(r'<invoke name="(?P<name>[^"]+)">(?P<body>.*?)</invoke>', re.DOTALL)
_INVOKE_PARAMETER = re.compile(r'<parameter name="(?P<key>[^"]+)"[^>]*>\n?(?P<value>.*?)\n?</parameter>', re.DOTALL)
_KEYED_CALL = re.compile(r"<tool_call>\s*(?P<name>[\w.-]+)\s*(?P<body><arg_key>.*?)</tool_call>", re.DOTALL)
_KEYED_ARGUMENT = re.compile(
    r"<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>\n?(?P<value>.*?)\n?</arg_value>", re.DOTALL
)
_FORMS_OF_CALLS = ((_XML_CALL, _XML_PARAMETER), (_INVOKE, _INVOKE_PARAMETER), (_KEYED_CALL, _KEYED_ARGUMENT))
_JSON_CALL = re.compile(r"<(?P<tag>tool_call|function_call)>\s*(?P<call>\{.*?\})\s*(?:</(?P=tag)>|\Z)", re.DOTALL)
_OUTPUT = "output"
_LANGUAGES_OF_TAGS = {
    "execute_bash": "bash",
    "llm-code-output": _OUTPUT,
    "interpreter": _OUTPUT,
    "output": _OUTPUT,
}
"""Tags that hold no Python."""
_OUTPUT_FENCES = (_OUTPUT, "tool_output")
_RUNNING_TAG = "execute"
"""Begins the tags whose framework runs no fence."""
_PROMPTS = {"python": re.compile(r"(?:>>>|\.\.\.)(?: (?P<code>.*))?"), "shell": re.compile(r"\$ (?P<code>.*)")}
"""Lines of an interactive session that are code."""
_FIRST_PROMPTS = {"python": ">>>", "shell": "$ "}


def code_in_text(text: str) -> FoundCode:
    """Return the code of a reply's text, with outputs that it shows.

    Calls written as XML or JSON; else blocks in tags that run, which leave fences to the reader; else all blocks.
    """
    calls = [*_calls_in_text(text), *calls_in_tokens(text)]
    if calls:
        return code_in_calls(calls)
    if not _WRITTEN_BLOCK.search(text):
        return FoundCode()
    found = list(_BLOCK.finditer(text))
    read_to = found[-1].end() if found else 0
    cut = _CUT_BLOCK.search(text, read_to)
    if cut is not None:
        found.append(cut)
    if any(map(_is_running, found)):
        return _code_of_tags(found)
    return _read_blocks(found)


def _code_of_tags(found: list[re.Match[str]]) -> FoundCode:
    """Return the code in tags; fences beside them are prose."""
    fences = [each for each in found if each["tag"] is None]
    not_run_count = sum(_block_in_text(fence) is not None for fence in fences)
    tagged = [each for each in found if each["tag"] is not None]
    return _read_blocks(tagged)._replace(form="tags", not_run_count=not_run_count)


def _calls_in_text(text: str) -> Iterator[ToolCall]:
    if not _WRITTEN_CALL.search(text):
        return
    for pattern, parameter in _FORMS_OF_CALLS:
        for found in pattern.finditer(text):
            yield ToolCall(found["name"], {each["key"]: each["value"] for each in parameter.finditer(found["body"])})
    for found in _JSON_CALL.finditer(text):
        try:
            call = json.loads(found["call"], strict=False)
        except ValueError:
            yield ToolCall("python", None)
            continue
        yield ToolCall(str(call.get("name") or ""), call.get("arguments", call.get("parameters")))


def _is_running(found: re.Match[str]) -> bool:
    if not (found["tag"] or "").startswith(_RUNNING_TAG):
        return False
    block = _block_in_text(found)
    return block is not None and (found.re is _BLOCK or _is_code(block, found["tagged"]))


def _read_blocks(found: list[re.Match[str]]) -> FoundCode:
    reading = _Reading()
    for each in found:
        reading.enter(each)
    return FoundCode(tuple(reading.blocks), tuple(reading.unread))


class _Reading:
    """The blocks of a text while it is gone through."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.unread: list[str] = []
        self._is_after_block = False

    def enter(self, found: re.Match[str]) -> None:
        """Read a block, or what the block before it printed."""
        if found.re is _CUT_BLOCK:
            self._enter_cut(found)
            return
        language = _language_of_block(found)
        if language in _OUTPUT_FENCES:
            self._deliver(found["fenced"] or found["tagged"] or "")
            return
        block = _block_in_text(found)
        self._is_after_block = block is not None
        if block is not None:
            self.blocks.append(block)
        elif language in OTHER_CODE:
            self.unread.append(f"a block of {language}")
        elif found["tag"] == "tool_call":
            self.unread.append("a tool_call that is neither a call nor Python")

    def _enter_cut(self, found: re.Match[str]) -> None:
        """Read a block without an end.

        A cut tag ran, as frameworks stop there; whether a cut fence ran is unknown.
        """
        block = _block_in_text(found)
        if block is None:
            return
        if found["tag"] is None:
            self.unread.append(f"a block of {_language_of_block(found)} without an end")
        elif _is_code(block, found["tagged"]):
            self.blocks.append(block)

    def _deliver(self, text: str) -> None:
        if not self._is_after_block:
            return
        self._is_after_block = False
        self.blocks[-1] = answered(self.blocks[-1], read_outcome(text.strip("\n")))


def _is_code(block: Block, tagged: str) -> bool:
    """Tell what follows a tag from a sentence about the tag."""
    if block.language == "shell":
        return True
    has_own_lines = tagged.lstrip(" \t").startswith("\n")
    return has_own_lines or _is_python(block.code)


def _is_python(text: str) -> bool:
    """Tell whether a text parses as Python."""
    try:
        parse_python(text)
    except UNPARSABLE:
        return False
    return True


def _block_in_text(found: re.Match[str]) -> Block | None:
    """Return a fenced or tagged block; null for other languages."""
    language = _language_of_block(found)
    if language not in (*PYTHON_TAGS, *SHELL_TAGS):
        return None
    code = outdent(_source_of(found), found["indent"] or "")
    if not code or (found["tag"] == "tool_call" and not _is_python(code)):
        return None
    return _without_prompts(Block(code, language="shell" if language in SHELL_TAGS else "python"))


def _source_of(found: re.Match[str]) -> str:
    """Return a block's source; of a fence in a tag, the fence's."""
    if found["tag"] is None:
        return found["fenced"]
    fenced = WHOLE_FENCE.fullmatch(found["tagged"])
    if fenced is None:
        return found["tagged"]
    return fenced["fenced"]


def _language_of_block(found: re.Match[str]) -> str:
    """Return the language of a fence or tag.

    A fence without one counts as Python.
    """
    if found["tag"] is not None:
        return _LANGUAGES_OF_TAGS.get(found["tag"], "python")
    return found["language"].strip().strip("{.}").partition(" ")[0].lower()


def _without_prompts(block: Block) -> Block:
    """Return a block of an interactive session as its code and outputs."""
    if not block.code.startswith(_FIRST_PROMPTS[block.language]):
        return block
    prompt = _PROMPTS[block.language]
    lines = block.code.splitlines()
    typed = [prompt.fullmatch(line) for line in lines]
    code = "\n".join(found["code"] or "" for found in typed if found is not None)
    printed = "\n".join(line for line, found in zip(lines, typed, strict=True) if found is None)
    return answered(block._replace(code=code), read_outcome(printed))
