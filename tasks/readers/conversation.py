"""Replies in chat messages: OpenAI's, Anthropic's, ShareGPT's and alike."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from carryover.tasks.readers.message_parts import parts_of, unread_parts
from carryover.tasks.readers.outputs import Outcome, read_outcome, text_of_parts
from carryover.tasks.readers.raised import answered
from carryover.tasks.readers.source_code import FORMS, FoundCode, ToolCall, code_in_calls
from carryover.tasks.readers.text_blocks import code_in_text
from carryover.tasks.readers.trace import Block, OpeningMessage, Reply

_CALLING_ROLE = "function_call"
AGENT_ROLES = ("assistant", "gpt", "model", "agent", "ai", "bot", "chatgpt", "bing", "bard", _CALLING_ROLE)
_SYSTEM_ROLES = ("system", "developer")
_ROLE_KEYS = ("role", "from", "source", "author", "type")
_TEXT_KEYS = ("content", "value", "text", "message")
_CALL_PARTS = ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call")
_EVERYONE = ("", "all", "user")
"""Recipients of a message that calls nothing."""
_RESULT_PARTS = ("tool_call_response",)
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking")
_ANSWERING_ROLES = ("tool", "function", "ipython", "computer", "observation")
_ID_KEYS = ("tool_use_id", "tool_call_id", "call_id", "id")
_RESULT_KEYS = ("content", "response", "result", "output")
_ARGUMENT_KEYS = ("arguments", "input", "args", "parameters")

RunRule = Literal["all", "first", "single"]
"""Which blocks of a reply's text the source's framework runs; `single` runs none of several."""


class Answer(NamedTuple):
    """A result of a tool call."""

    call_id: str
    content: Any
    is_error: bool = False


def role_of(message: Mapping[str, Any]) -> str:
    """Return who wrote a message, in lower case; empty where nothing tells."""
    role = next((message[key] for key in _ROLE_KEYS if isinstance(message.get(key), str)), "")
    return str(role).lower()


def text_of(message: Mapping[str, Any]) -> str:
    """Return a message's text: its parts joined; empty where it has none."""
    content = next((message[key] for key in _TEXT_KEYS if message.get(key) is not None), message.get("parts"))
    if not isinstance(content, list):
        return text_of_parts(content)
    return text_of_parts([_spoken(part) for part in content if not _is_of(part, *_THOUGHTS)])


def _spoken(part: Any) -> Any:
    """Return a part; OpenTelemetry's with `content` as text."""
    is_plain = _is_of(part, "text") and isinstance(part.get("content"), str)
    if is_plain:
        return part["content"]
    return part


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
    in a text is what the last of them printed. Where the agent runs code by calls or in tags, other blocks are prose.
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
    forms = [draft.code.form for draft in drafts if draft.code.blocks or draft.code.unread]
    running = min(forms, key=FORMS.index, default="text")
    return tuple(draft.reply(is_running=draft.code.form == running) for draft in drafts)


class _Draft:
    """A reply whose answers are still being read."""

    def __init__(self, text: str, code: FoundCode, *, is_by_call: bool, tokens: Mapping[str, Any]) -> None:
        self.text = text
        self.code = code
        self.is_by_call = is_by_call
        self.tokens = tokens
        self.observations: list[str] = []
        self.outcomes: dict[int, Outcome] = {}

    def reply(self, *, is_running: bool) -> Reply:
        """Return the reply; no blocks where this form does not run."""
        code = self.code if is_running else self.code.without_blocks()
        observation = "".join(self.observations)
        if not self.is_by_call and observation.strip() and not self.outcomes and code.blocks:
            self._take_text(read_outcome(observation), code.blocks[-1])
        blocks = [self._answered(index, block) for index, block in enumerate(code.blocks)]
        return Reply(
            self.text,
            tuple(blocks),
            observation,
            code.unread,
            code.other_calls,
            not_run_count=code.not_run_count,
            **self.tokens,
        )

    def _take_text(self, outcome: Outcome, last: Block) -> None:
        """Take a text as what the last block printed.

        Where the reply shows its output already, the text counts only if it tells an error.
        """
        tells_error = outcome.error is not None and last.error is None
        if last.output is None or tells_error:
            self.outcomes[len(self.code.blocks) - 1] = outcome

    @property
    def names_calls(self) -> bool:
        """Whether its calls have identifiers, or run no code."""
        return bool(self.code.other_calls) or any(block.call_id for block in self.code.blocks)

    def take(self, call_id: str, outcome: Outcome) -> bool:
        """Take a call's result by identifier; tell whether it is ours."""
        for index, block in enumerate(self.code.blocks):
            if call_id and block.call_id == call_id and index not in self.outcomes:
                self.outcomes[index] = outcome
                return True
        return False

    def take_next(self, outcome: Outcome) -> None:
        """Take a result without an identifier.

        It goes to the first block that has none, else to the last one.
        """
        free = [index for index in range(len(self.code.blocks)) if index not in self.outcomes]
        if free:
            self.outcomes[free[0]] = outcome
        elif self.outcomes:
            last = max(self.outcomes)
            self.outcomes[last] = _joined(self.outcomes[last], outcome)

    def _answered(self, index: int, block: Block) -> Block:
        outcome = self.outcomes.get(index)
        if outcome is None:
            return block
        return answered(block, outcome)


def _draft(message: Mapping[str, Any], runs: RunRule) -> _Draft:
    text = text_of(message)
    calls = calls_of(message)
    tokens = tokens_of(message)
    unread = unread_parts(parts_of(message))
    if calls or unread:
        code = code_in_calls(calls)
        return _Draft(text, code._replace(unread=code.unread + unread), is_by_call=True, tokens=tokens)
    return _Draft(text, _run_by_rule(code_in_text(text), runs), is_by_call=False, tokens=tokens)


def _run_by_rule(code: FoundCode, runs: RunRule) -> FoundCode:
    """Return a text's code with the blocks that its framework runs."""
    if runs == "all" or len(code.blocks) <= 1:
        return code
    if runs == "first":
        return code._replace(blocks=code.blocks[:1], not_run_count=code.not_run_count + len(code.blocks) - 1)
    return code._replace(blocks=(), not_run_count=code.not_run_count + len(code.blocks))


def calls_of(message: Mapping[str, Any]) -> list[ToolCall]:
    """Return the tool calls of an agent's message, in any of three fields.

    `tool_calls`, `function_call`, and parts that are calls.
    """
    listed: list[Any] = [part for part in parts_of(message) if _is_of(part, *_CALL_PARTS)]
    for held in (message.get("tool_calls"), message.get("function_call"), _called_in_text(message)):
        if held:
            listed += held if isinstance(held, list | tuple) else [held]
    return [read_call(call) for call in listed]


def _called_in_text(message: Mapping[str, Any]) -> Any:
    """Return calls told by a recipient (Harmony) or a role."""
    text = text_of(message)
    recipient = message.get("recipient")
    if isinstance(recipient, str) and recipient not in _EVERYONE:
        return {"name": recipient, "arguments": text}
    if role_of(message) == _CALLING_ROLE:
        return json_or_none(text) or text
    return None


def read_call(call: Any) -> ToolCall:
    """Return a call's name and arguments, or neither; it may be JSON."""
    if isinstance(call, str) and call.startswith("{"):
        call = json_or_none(call)
    if not isinstance(call, Mapping):
        return ToolCall("", None)
    named = call.get("function") or call.get("custom")
    held = named if isinstance(named, Mapping) else call
    name = held.get("name") or held.get("function_name") or named
    return ToolCall(name if isinstance(name, str) else "", _first(held, _ARGUMENT_KEYS), _identifier(call))


def json_or_none(text: str) -> Any:
    """Return what JSON holds; none where a text is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _identifier(held: Mapping[str, Any]) -> str:
    return str(next((held[key] for key in _ID_KEYS if held.get(key)), ""))


def _first(held: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((held[key] for key in keys if key in held), None)


def _answers(message: Mapping[str, Any]) -> list[Answer]:
    """Return the results in a message: parts, or a tool's whole."""
    content = message.get("content")
    answers = [
        Answer(_identifier(part), _first(part, _RESULT_KEYS), bool(part.get("is_error")))
        for part in parts_of(message)
        if _is_result(part)
    ]
    if answers or role_of(message) not in _ANSWERING_ROLES:
        return answers
    error = message.get("error")
    held = text_of(message) if content is None else content  # ShareGPT has `value`
    if error:
        held = {"content": text_of(message), "error": error}
    return [Answer(str(message.get("tool_call_id") or ""), held)]


def _is_result(part: Any) -> bool:
    kind = ""
    if isinstance(part, Mapping):
        kind = str(part.get("type", ""))
    return kind.endswith("tool_result") or kind in _RESULT_PARTS


def _deliver(answer: Answer, drafts: Sequence[_Draft]) -> None:
    """Give a result to its call, else to the next one."""
    outcome = read_outcome(answer.content)
    if answer.is_error:
        outcome = outcome._replace(error=outcome.error or outcome.output or "ToolError", is_declared=True)
    if any(draft.take(answer.call_id, outcome) for draft in reversed(drafts)):
        return
    if drafts and not (answer.call_id and drafts[-1].names_calls):
        drafts[-1].take_next(outcome)


def _joined(before: Outcome, after: Outcome) -> Outcome:
    """Return two outcomes of a block as one; a declared error stays."""
    joined = read_outcome(before.output + after.output)
    for each in (after, before):
        if each.is_declared:
            return joined._replace(error=each.error, is_declared=True)
    return joined


def tokens_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reply's tokens as fields of `Reply`; empty if uncounted."""
    usage = message.get("usage") or message.get("metrics") or message.get("token_usage")
    if not isinstance(usage, Mapping):
        return {}
    prompt = usage.get("prompt_tokens", usage.get("input_tokens"))
    completion = usage.get("completion_tokens", usage.get("output_tokens"))
    return {"prompt_tokens": int(prompt or 0), "completion_tokens": int(completion or 0)}


def _is_of(part: Any, *kinds: str) -> bool:
    return isinstance(part, Mapping) and part.get("type") in kinds
