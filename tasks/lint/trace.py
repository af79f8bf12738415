"""Traces as the lint reads them: the replies of one code agent, and the blocks in them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from carryover.tasks.lint.chat_records import text_of
from carryover.tasks.traces.vocabulary import ContractName

_STATELESS_WORDS = (ContractName.STATELESS, "reset", "ephemeral")
_BLOCK = re.compile(
    r"^(?P<fence>[ \t]*(?:```+|~~~+))(?P<language>[^\n`]*)\n(?P<fenced>.*?)^(?P=fence)"
    r"|<(?P<tag>execute(?:_i?python)?|code)>(?P<tagged>.*?)</(?P=tag)>",
    re.DOTALL | re.MULTILINE,
)
_PYTHON_TAGS = ("", "python", "py", "python3", "ipython", "repl", "tool_code", "execute", "code")
_SHELL_TAGS = ("bash", "sh", "shell", "zsh", "console")
_SOURCE_KEYS = ("code", "source", "python", "script")
_PYTHON_TOOL = re.compile("python|ipython|jupyter|interpreter|execute|run_code", re.IGNORECASE)


class ExecutedBlock(NamedTuple):
    """A block and what came back."""

    code: str
    observation: str = ""
    """Message to the agent after it, where the dataset has one."""


class CodeTrace(NamedTuple):
    """One trace, from whatever dataset."""

    trace_id: str
    declared_contract: str | None
    """Contract that the dataset declares."""
    replies: tuple[str, ...]
    """Assistant messages, oldest first."""
    blocks: tuple[ExecutedBlock, ...]
    """Executed blocks, oldest first."""
    unread_count: int = 0
    """Tool calls whose arguments hold no Python source."""
    called_codes: tuple[str, ...] = ()
    """Source in tool calls, which no reply's text holds."""


class LintReply(NamedTuple):
    """An assistant message with what its tool calls ran."""

    text: str
    observation: str = ""
    """Message to the agent after it."""
    called_codes: tuple[str, ...] = ()
    unread_count: int = 0
    """Tool calls without Python source."""


def trace_of_replies(trace_id: str, declared_contract: str | None, replies: Sequence[LintReply]) -> CodeTrace:
    """Return a trace from replies: what ran is the source in their tool calls, else their first block."""
    blocks = tuple(
        ExecutedBlock(code, reply.observation)
        for reply in replies
        for code in reply.called_codes or code_blocks(reply.text)[:1]
    )
    return CodeTrace(
        trace_id,
        contract_name(declared_contract),
        tuple(reply.text for reply in replies),
        blocks,
        sum(reply.unread_count for reply in replies),
        tuple(code for reply in replies for code in reply.called_codes),
    )


def code_blocks(text: str) -> list[str]:
    """Return the blocks of a text in order: fences of backticks or tildes, `<execute>` and `<code>` tags.

    A fence of a shell becomes a `%%bash` cell; one of another language (`json`, `text`) is no block.
    """
    blocks = []
    for found in _BLOCK.finditer(text):
        language = (found["language"] or "").strip().partition(" ")[0].lower()
        if language in (*_PYTHON_TAGS, *_SHELL_TAGS):
            code = (found["fenced"] or found["tagged"] or "").strip("\n").rstrip()
            blocks.append(f"%%bash\n{code}" if language in _SHELL_TAGS else code)
    return blocks


def calling_reply(text: str, calls: Iterable[tuple[str, Any]], observation: str = "") -> LintReply:
    """Return a message with the source in its tool calls, each a name and arguments."""
    found = [called_code(name, arguments) for name, arguments in calls]
    codes = tuple(code for code in found if code is not None)
    return LintReply(text, observation, codes, len(found) - len(codes))


def chat_replies(messages: Iterable[Mapping[str, Any]]) -> list[LintReply]:
    """Return the assistant messages of a chat, each with what the messages of other roles after it say.

    Calls are OpenAI's `tool_calls` and `function_call`, and Anthropic's parts of type `tool_use`.
    """
    replies: list[LintReply] = []
    for message in messages:
        text = text_of(message)
        if message["role"] == "assistant":
            replies.append(calling_reply(text, _calls(message)))
        elif replies:
            replies[-1] = replies[-1]._replace(observation=replies[-1].observation + text)
    return replies


def _calls(message: Mapping[str, Any]) -> list[tuple[str, Any]]:
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    calls = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_use"]
    for named in ("tool_calls", "function_call"):
        listed = message.get(named) or []
        calls += listed if isinstance(listed, list | tuple) else [listed]
    return [_call(call) for call in calls]


def _call(call: Any) -> tuple[str, Any]:
    """Return a call's name and arguments; what is not written as a call has none, and stays unread."""
    if isinstance(call, dict) and isinstance(call.get("function"), dict):
        call = call["function"]
    if not isinstance(call, dict):
        return "", None
    return str(call.get("name") or call.get("function")), call.get("arguments", call.get("input"))


def atif_reply(step: Mapping[str, Any]) -> LintReply:
    """Return an agent's step of an ATIF trajectory with the source in its calls and the results that followed."""
    calls = [(call["function_name"], call["arguments"]) for call in step.get("tool_calls") or ()]
    results = (step.get("observation") or {}).get("results") or ()
    return calling_reply(text_of({"content": step["message"]}), calls, "".join(map(text_of, results)))


def called_code(name: str, arguments: Any) -> str | None:
    """Return the Python source in a tool call's arguments, an object, JSON, or bare source; `None` if there is none.

    Bare text is source where the tool's name says that it runs Python.
    """
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments)
    if isinstance(arguments, str):
        return arguments if _PYTHON_TOOL.search(name) else None
    if not isinstance(arguments, dict):
        return None
    sources = (arguments.get(key) for key in _SOURCE_KEYS)
    return next((source for source in sources if isinstance(source, str)), None)


def contract_name(declared: str | None) -> str | None:
    """Return our name of a declared contract: `stateless` for what others call `reset`, else the word itself."""
    if declared is None:
        return None
    word = declared.strip().lower()
    return ContractName.STATELESS if word in _STATELESS_WORDS else word
