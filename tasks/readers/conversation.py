"""Replies in a list of chat messages: OpenAI's, Anthropic's, ShareGPT's, and what the layouts make of theirs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from carryover.tasks.readers.outputs import Outcome, read_outcome, text_of_parts
from carryover.tasks.readers.source_code import FoundCode, ToolCall, code_in_calls, code_in_text
from carryover.tasks.readers.trace import Block, OpeningMessage, Reply

AGENT_ROLES = ("assistant", "gpt", "model", "agent", "ai", "bot", "chatgpt", "bing", "bard", "function_call")
_SYSTEM_ROLES = ("system", "developer")
_ROLE_KEYS = ("role", "from", "source", "author", "type")
_TEXT_KEYS = ("content", "value", "text", "message")
_CALL_PARTS = ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call")
_RESULT_PARTS = ("tool_call_response",)

RunRule = Literal["all", "first", "single"]
"""Which blocks of a reply's text the source's framework runs; `single` runs none of several."""


class Answer(NamedTuple):
    """A result of a tool call."""

    call_id: str
    content: Any
    is_error: bool = False


def role_of(message: Mapping[str, Any]) -> str:
    """Return who wrote a message, in lower case; empty where nothing tells."""
    told = next((message[key] for key in _ROLE_KEYS if isinstance(message.get(key), str)), "")
    return str(told).lower()


def text_of(message: Mapping[str, Any]) -> str:
    """Return a message's text: its parts joined; empty where it has none."""
    content = next((message[key] for key in _TEXT_KEYS if message.get(key) is not None), message.get("parts"))
    if isinstance(content, list):
        content = [part for part in content if not _is_of(part, "thinking", "reasoning", "redacted_thinking")]
    if isinstance(content, list) and any(_is_of(part, "text") and "content" in part for part in content):
        return "".join(str(part.get("content") or part.get("text") or "") for part in content if _is_of(part, "text"))
    return text_of_parts(content)


def opening_of(messages: Iterable[Mapping[str, Any]]) -> tuple[OpeningMessage, ...]:
    """Return the messages before the first reply."""
    opening: list[OpeningMessage] = []
    for message in messages:
        role = role_of(message)
        if role in AGENT_ROLES:
            break
        opening.append(OpeningMessage("system" if role in _SYSTEM_ROLES else "user", text_of(message)))
    return tuple(opening)


def replies_of(messages: Iterable[Mapping[str, Any]], runs: RunRule = "all") -> tuple[Reply, ...]:
    """Return the agent's messages with what they ran and what came back.

    A result is matched to its call by identifier; without one, results answer calls in order, and a text after blocks
    in a text is what the last of them printed.
    """
    drafts: list[_Draft] = []
    for message in messages:
        if not isinstance(message, Mapping):
            raise TypeError(f"a message is {type(message).__name__}, not an object")
        if role_of(message) in AGENT_ROLES:
            drafts.append(_draft(message, runs))
        elif drafts:
            drafts[-1].observations.append(text_of(message))
        for answer in _answers(message):
            _deliver(answer, drafts)
    return tuple(draft.reply() for draft in drafts)


class _Draft:
    """A reply whose answers are still being read."""

    def __init__(self, text: str, code: FoundCode, *, is_by_call: bool, tokens: Mapping[str, int]) -> None:
        self.text = text
        self.code = code
        self.is_by_call = is_by_call
        self.tokens = tokens
        self.observations: list[str] = []
        self.outcomes: dict[int, Outcome] = {}

    def reply(self) -> Reply:
        observation = "".join(self.observations)
        if not self.is_by_call and observation.strip() and self.code.blocks and not self.outcomes:
            self.outcomes[len(self.code.blocks) - 1] = read_outcome(observation)
        blocks = [self._answered(index, block) for index, block in enumerate(self.code.blocks)]
        return Reply(self.text, tuple(blocks), observation, self.code.unread, self.code.other_calls, **self.tokens)

    def _answered(self, index: int, block: Block) -> Block:
        outcome = self.outcomes.get(index)
        if outcome is None:
            return block
        return block._replace(output=outcome.output, error=outcome.error, result=outcome.result)


def _draft(message: Mapping[str, Any], runs: RunRule) -> _Draft:
    text = text_of(message)
    calls = calls_of(message)
    tokens = _tokens(message)
    if calls:
        return _Draft(text, code_in_calls(calls), is_by_call=True, tokens=tokens)
    code = code_in_text(text)
    if runs == "first":
        code = code._replace(blocks=code.blocks[:1])
    elif runs == "single" and len(code.blocks) > 1:
        code = code._replace(blocks=())
    return _Draft(text, code, is_by_call=False, tokens=tokens)


def calls_of(message: Mapping[str, Any]) -> list[ToolCall]:
    """Return the tool calls of a message: `tool_calls`, `function_call`, and parts that are calls."""
    content = message.get("content") if isinstance(message.get("content"), list) else message.get("parts")
    listed = [part for part in content if _is_of(part, *_CALL_PARTS)] if isinstance(content, list) else []
    for key in ("tool_calls", "function_call"):
        held = message.get(key)
        if held:
            listed += held if isinstance(held, list | tuple) else [held]
    return [read_call(call) for call in listed]


def read_call(call: Any) -> ToolCall:
    """Return a call by name and arguments; of what is not written as a call, neither is known."""
    if not isinstance(call, Mapping):
        return ToolCall("", None)
    call_id = str(call.get("id") or call.get("tool_call_id") or call.get("call_id") or "")
    named = call.get("function")
    held = named if isinstance(named, Mapping) else call
    name = str(held.get("name") or held.get("function_name") or (named if isinstance(named, str) else "") or "")
    arguments = next((held[key] for key in ("arguments", "input", "args", "parameters") if key in held), None)
    return ToolCall(name, arguments, call_id)


def _answers(message: Mapping[str, Any]) -> list[Answer]:
    """Return the results in a message: a tool's message, or parts that are results."""
    content = message.get("content")
    parts = content if isinstance(content, list) else message.get("parts")
    answers = []
    for part in parts if isinstance(parts, list) else ():
        kind = str(part.get("type", "")) if isinstance(part, Mapping) else ""
        if kind.endswith("tool_result") or kind in _RESULT_PARTS:
            call_id = str(part.get("tool_use_id") or part.get("tool_call_id") or part.get("id") or "")
            held = next((part[key] for key in ("content", "response", "result", "output") if key in part), "")
            answers.append(Answer(call_id, held, bool(part.get("is_error"))))
    if not answers and role_of(message) in ("tool", "function", "ipython", "computer", "observation"):
        error = message.get("error")
        held = {"content": text_of(message), "error": error} if error else content
        answers.append(Answer(str(message.get("tool_call_id") or ""), held))
    return answers


def _deliver(answer: Answer, drafts: Sequence[_Draft]) -> None:
    """Give a result to its call: the one of its identifier, else the first of the last reply without one."""
    outcome = read_outcome(answer.content)
    if answer.is_error and outcome.error is None:
        outcome = outcome._replace(error=outcome.output or "ToolError")
    for draft in reversed(drafts):
        for index, block in enumerate(draft.code.blocks):
            if index not in draft.outcomes and answer.call_id and block.call_id == answer.call_id:
                draft.outcomes[index] = outcome
                return
    if not drafts or any(block.call_id for block in drafts[-1].code.blocks if answer.call_id):
        return
    last = drafts[-1]
    free = [index for index in range(len(last.code.blocks)) if index not in last.outcomes]
    if free and not (answer.call_id and last.code.other_calls):
        last.outcomes[free[0]] = outcome
    elif last.outcomes and not answer.call_id:
        place = max(last.outcomes)
        last.outcomes[place] = read_outcome(last.outcomes[place].output + outcome.output)


def _tokens(message: Mapping[str, Any]) -> dict[str, int]:
    usage = message.get("usage") or message.get("metrics")
    if not isinstance(usage, Mapping):
        return {}
    prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
    completion = usage.get("completion_tokens", usage.get("output_tokens"))
    return {"prompt_tokens": int(prompt or 0), "completion_tokens": int(completion or 0)}


def _is_of(part: Any, *kinds: str) -> bool:
    return isinstance(part, Mapping) and part.get("type") in kinds
