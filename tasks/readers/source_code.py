"""Source code in the arguments of tool calls."""

import json
import re
import shlex
import textwrap
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from carryover.tasks.readers.trace import Block, Language, Reply

PYTHON_TAGS = ("", "python", "py", "py3", "python3", "ipython", "repl", "pycon", "tool_code", "execute", "code")
SHELL_TAGS = ("bash", "sh", "shell", "zsh", "console", "terminal", "mswea_bash_command")
OTHER_CODE = (
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
_SHELL_TOOL = re.compile(r"bash|shell|terminal|exec_command|run_command|run_cmd|^exec$|^sh$", re.IGNORECASE)
_FILE_KEYS = ("path", "file_path", "filename", "old_str", "new_str", "file_text", "view_range", "notebook_path")
_QUERY_TOOL = re.compile(r"sql|quer(?:y|ies)", re.IGNORECASE)
"""Tools that execute something, which is no code of an interpreter."""
_OTHER_CODE_TOOL = re.compile(
    r"javascript|typescript|applescript|powershell|(?:\b|_)(?:js|node)(?:\b|_)", re.IGNORECASE
)
WHOLE_FENCE = re.compile(
    r"\s*(?P<fence>```+|~~~+)[^\n`]*\n(?P<fenced>.*?)^[ \t]*(?P=fence)\s*", re.DOTALL | re.MULTILINE
)
"""A text that is one fence."""
_ENDING_TOOLS = ("final_answer", "submit", "finish", "complete", "attempt_completion", "task_complete", "done")


class ToolCall(NamedTuple):
    """A call of a tool, as the model wrote it."""

    name: str
    arguments: Any
    call_id: str = ""


Form = Literal["calls", "tags", "text"]
"""How an agent hands code to its interpreter; where it does so in the first forms, the later ones are prose."""
FORMS: tuple[Form, ...] = get_args(Form)


class FoundCode(NamedTuple):
    """Code in a text or in calls, and what is no code."""

    blocks: tuple[Block, ...] = ()
    unread: tuple[str, ...] = ()
    other_calls: tuple[str, ...] = ()
    form: Form = "text"
    not_run_count: int = 0
    """Blocks that the agent's framework does not run."""

    def reply(self, text: str) -> Reply:
        """Return a reply of this code and no observation."""
        return Reply(
            text,
            self.blocks,
            unread=self.unread,
            other_calls=self.other_calls,
            not_run_count=self.not_run_count,
        )

    def without_blocks(self) -> "FoundCode":
        """Return it with all blocks as ones that did not run."""
        count = self.not_run_count + len(self.blocks) + len(self.unread)
        return self._replace(blocks=(), unread=(), not_run_count=count)


def code_in_calls(calls: list[ToolCall]) -> FoundCode:
    """Return the code in tool calls, and names of other tools."""
    blocks: list[Block] = []
    unread: list[str] = []
    others: list[str] = []
    form: Form = "text"
    for call in calls:
        arguments = _parsed(call.arguments)
        block = _block_of(call, arguments)
        if block is not None:
            blocks.append(block)
            form = "calls"
        elif _should_hold_code(call.name, arguments):
            unread.append(f"call of {call.name or 'a tool without a name'} without source code")
            form = "calls" if call.name else form
        else:
            others.append(call.name)
    return FoundCode(tuple(blocks), tuple(unread), tuple(others), form)


def ends_episode(call_name: str) -> bool:
    """Tell whether a called tool hands in the answer."""
    return call_name.rpartition(".")[2].lower() in _ENDING_TOOLS


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
    if not isinstance(arguments, Mapping) or _is_other_code(call.name, arguments):
        return None
    source = _first_source(arguments, _SOURCE_KEYS)
    if source is not None:
        return Block(outdent(source), language=_language_of_call(call, arguments), call_id=call.call_id)
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
    if is_for_shell or _language_of(arguments) in SHELL_TAGS:
        return "shell"
    return "python"


def _is_other_code(name: str, arguments: Mapping[str, Any]) -> bool:
    """Tell whether a call's code is of an unread language."""
    language = _language_of(arguments)
    is_read = "py" in language or language in (*PYTHON_TAGS, *SHELL_TAGS)
    return not is_read or bool(_OTHER_CODE_TOOL.search(name))


def _bare_source(call: ToolCall, text: str) -> Block | None:
    """Return text as source where the tool's name says so."""
    if _QUERY_TOOL.search(call.name) or _OTHER_CODE_TOOL.search(call.name):
        return None
    fenced = WHOLE_FENCE.fullmatch(text)
    if fenced is not None:
        text = fenced["fenced"]
    if _SHELL_TOOL.search(call.name):
        return Block(text, language="shell", call_id=call.call_id)
    if _PYTHON_TOOL.search(call.name):
        return Block(outdent(text), call_id=call.call_id)
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
            return _is_other_code(name, arguments)
        if arguments.get("restart") is not None:
            return False
    if _QUERY_TOOL.search(name):
        return False
    return not name or bool(_PYTHON_TOOL.search(name) or _SHELL_TOOL.search(name))


def outdent(code: str, indent: str = "") -> str:
    """Return code without shared indentation or list marks."""
    if ">" in indent:
        code = re.sub(r"^[ \t]*> ?", "", code, flags=re.MULTILINE)
    return textwrap.dedent(code).strip("\n").strip(" \t").rstrip()
