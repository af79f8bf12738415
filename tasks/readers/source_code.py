"""Source code in agents' text, and in arguments of calls."""

import json
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from carryover.tasks.readers.trace import Block, Language
from carryover.tasks.services.syntax import UNPARSABLE, parse_python

_BLOCK = re.compile(
    r"^(?P<indent>[ \t]*(?:(?:[-*+>]|\d+[.)])[ \t]+)*)(?P<fence>```+|~~~+)(?P<language>[^\n`]*)\n"
    r"(?P<fenced>.*?)^[ \t>]*(?P=fence)"
    r"|<(?P<tag>execute(?:_(?:i?python|bash))?|code|python|tool_code)>(?P<tagged>.*?)</(?P=tag)>",
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
_JSON_CALL = re.compile(r"<(?P<tag>tool_call|function_call)>\s*(?P<call>\{.*?\})\s*</(?P=tag)>", re.DOTALL)
_PYTHON_TAGS = ("", "python", "py", "py3", "python3", "ipython", "repl", "pycon", "tool_code", "execute", "code")
_SHELL_TAGS = ("bash", "sh", "shell", "zsh", "console", "terminal", "mswea_bash_command")
_OTHER_CODE = (
    "javascript",
    "js",
    "typescript",
    "ts",
    "node",
    "r",
    "julia",
    "ruby",
    "perl",
    "powershell",
    "applescript",
)
"""Languages that an interpreter of an agent may run and that the lint does not read."""
_SOURCE_KEYS = ("code", "source", "python", "script", "python_code", "cell", "program", "snippet")
_SHELL_KEYS = ("command", "cmd", "commands", "bash_command", "keystrokes")
_WORD_KEYS = ("command", "cmd")
"""Keys under which a list is the words of one command; others list lines."""
_PYTHON_TOOL = re.compile(
    r"python|jupyter|interpreter|notebook|\brepl\b|execut|run_code|run_cell|code_?exec", re.IGNORECASE
)
_SHELL_TOOL = re.compile(r"bash|shell|terminal|exec_command|run_command|run_cmd|^exec$", re.IGNORECASE)
_FILE_KEYS = ("path", "file_path", "filename", "old_str", "new_str", "file_text", "view_range", "notebook_path")
_ENDING_TOOLS = ("final_answer", "submit", "finish", "complete", "attempt_completion", "task_complete", "done")


class ToolCall(NamedTuple):
    """A call of a tool, as the model wrote it."""

    name: str
    arguments: Any
    call_id: str = ""


class FoundCode(NamedTuple):
    """Code in a text or in calls, and what is no code."""

    blocks: tuple[Block, ...] = ()
    unread: tuple[str, ...] = ()
    other_calls: tuple[str, ...] = ()


def code_in_text(text: str) -> FoundCode:
    """Return the code of a reply's text.

    Calls written as XML or JSON, else fenced and tagged blocks.
    """
    calls = []
    if _WRITTEN_CALL.search(text):
        calls = list(_calls_in_text(text))
    if calls:
        return code_in_calls(calls)
    if not _WRITTEN_BLOCK.search(text):
        return FoundCode()
    found = list(_BLOCK.finditer(text))
    read_to = found[-1].end() if found else 0
    cut = _cut_block(text[read_to:])
    blocks = [_block_in_text(each) for each in found]
    languages = map(_language_of_block, found)
    unread = [f"a block of {language}" for language in languages if language in _OTHER_CODE]
    return FoundCode((*(block for block in blocks if block is not None), *cut.blocks), (*unread, *cut.unread))


def _cut_block(rest: str) -> FoundCode:
    """Return the block at a text's end whose end is missing.

    A cut tag ran, as frameworks stop there; whether a cut fence ran is unknown.
    """
    found = _CUT_BLOCK.search(rest)
    if found is None:
        return FoundCode()
    block = _block_in_text(found)
    if block is None:
        return FoundCode()
    if found["tag"] is None:
        return FoundCode(unread=(f"a block of {_language_of_block(found)} without an end",))
    if _is_code(block, found["tagged"]):
        return FoundCode((block,))
    return FoundCode()


def _is_code(block: Block, tagged: str) -> bool:
    """Tell what follows a tag from a sentence about the tag."""
    if block.language == "shell":
        return True
    has_own_lines = tagged.lstrip(" \t").startswith("\n")
    return has_own_lines or _is_python(block.code)


def _is_python(text: str) -> bool:
    """Tell whether a text parses, which a sentence about a tag does not."""
    try:
        parse_python(text)
    except UNPARSABLE:
        return False
    return True


def _block_in_text(found: re.Match[str]) -> Block | None:
    """Return a fenced or tagged block; null for other languages."""
    language = _language_of_block(found)
    code = _outdent(found["fenced"] or found["tagged"] or "", found["indent"] or "")
    if not code or language not in (*_PYTHON_TAGS, *_SHELL_TAGS):
        return None
    return Block(code, language="shell" if language in _SHELL_TAGS else "python")


def _language_of_block(found: re.Match[str]) -> str:
    """Return the language of a fence or tag.

    A fence without one counts as Python.
    """
    if found["tag"] is not None:
        if found["tag"] == "execute_bash":
            return "bash"
        return "python"
    return found["language"].strip().strip("{.}").partition(" ")[0].lower()


def code_in_calls(calls: list[ToolCall]) -> FoundCode:
    """Return the code in tool calls, and names of other tools."""
    blocks: list[Block] = []
    unread: list[str] = []
    others: list[str] = []
    for call in calls:
        arguments = _parsed(call.arguments)
        block = _block_of(call, arguments)
        if block is not None:
            blocks.append(block)
        elif _should_hold_code(call.name, arguments):
            unread.append(f"call of {call.name or 'a tool without a name'} without source code")
        else:
            others.append(call.name)
    return FoundCode(tuple(blocks), tuple(unread), tuple(others))


def ends_episode(call_name: str) -> bool:
    """Tell whether a called tool hands in the answer."""
    return call_name.rpartition(".")[2].lower() in _ENDING_TOOLS


def _calls_in_text(text: str) -> Iterator[ToolCall]:
    for pattern, parameter in ((_XML_CALL, _XML_PARAMETER), (_INVOKE, _INVOKE_PARAMETER)):
        for found in pattern.finditer(text):
            yield ToolCall(found["name"], {each["key"]: each["value"] for each in parameter.finditer(found["body"])})
    for found in _JSON_CALL.finditer(text):
        try:
            call = json.loads(found["call"], strict=False)
        except ValueError:
            yield ToolCall("python", None)
            continue
        yield ToolCall(str(call.get("name")), call.get("arguments", call.get("parameters")))


def _parsed(arguments: Any) -> Any:
    """Return arguments as an object; bare source stays text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        parsed = json.loads(arguments, strict=False)
    except ValueError:
        return arguments
    if isinstance(parsed, dict):
        return parsed
    is_quoted_source = isinstance(parsed, str) and any(sign in parsed for sign in "=(\n")
    if is_quoted_source:
        return parsed
    return arguments


def _block_of(call: ToolCall, arguments: Any) -> Block | None:
    if isinstance(arguments, str):
        return _bare_source(call, arguments)
    if not isinstance(arguments, Mapping) or _language_of(arguments) in _OTHER_CODE:
        return None
    source = _first_source(arguments, _SOURCE_KEYS)
    if source is not None:
        return Block(_outdent(source), language=_language_of_call(call, arguments), call_id=call.call_id)
    return _block_of_other_arguments(call, arguments)


def _block_of_other_arguments(call: ToolCall, arguments: Mapping[str, Any]) -> Block | None:
    """Return a shell's command, or an interpreter call's only text."""
    if any(key in arguments for key in (*_SOURCE_KEYS, *_FILE_KEYS)):
        return None
    command = _first_source(arguments, _SHELL_KEYS)
    if command is not None:
        return Block(command, language="shell", call_id=call.call_id)
    texts = [value for value in arguments.values() if isinstance(value, str)]
    if len(texts) == 1:
        return _bare_source(call, texts[0])
    return None


def _language_of_call(call: ToolCall, arguments: Mapping[str, Any]) -> Language:
    is_for_shell = _SHELL_TOOL.search(call.name) and not _PYTHON_TOOL.search(call.name)
    if is_for_shell or _language_of(arguments) in _SHELL_TAGS:
        return "shell"
    return "python"


def _bare_source(call: ToolCall, text: str) -> Block | None:
    """Return text as source where the tool's name says so."""
    if _SHELL_TOOL.search(call.name):
        return Block(text, language="shell", call_id=call.call_id)
    if _PYTHON_TOOL.search(call.name):
        return Block(_outdent(text), call_id=call.call_id)
    return None


def _language_of(arguments: Mapping[str, Any]) -> str:
    return str(arguments.get("language") or arguments.get("lang") or "python").lower()


def _first_source(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            return _joined(value, is_command=key in _WORD_KEYS)
    return None


def _joined(parts: list[str], *, is_command: bool) -> str:
    """Return a source's lines or a command's words, joined.

    `bash -lc COMMAND` is the command.
    """
    if not is_command:
        if all(part.endswith("\n") for part in parts[:-1]):
            return "".join(parts)
        return "\n".join(parts)
    if parts[0].rpartition("/")[2] in ("bash", "sh", "zsh") and len(parts) == 3:
        return parts[2]
    return shlex.join(parts)


def _should_hold_code(name: str, arguments: Any) -> bool:
    """Tell whether a call without code is an interpreter's.

    A source of null is a call without code.
    """
    if ends_episode(name):
        return False
    if isinstance(arguments, Mapping):
        if any(key in arguments for key in (*_SOURCE_KEYS, *_SHELL_KEYS, *_FILE_KEYS)):
            return _language_of(arguments) in _OTHER_CODE
        if arguments.get("restart") is not None:
            return False
    return not name or bool(_PYTHON_TOOL.search(name) or _SHELL_TOOL.search(name))


def _outdent(code: str, indent: str = "") -> str:
    """Return code without shared indentation or list marks."""
    if ">" in indent:
        code = re.sub(r"^[ \t]*> ?", "", code, flags=re.MULTILINE)
    return textwrap.dedent(code).strip("\n").strip(" \t").rstrip()
