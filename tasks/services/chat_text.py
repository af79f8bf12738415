"""Text of a chat template, by message and by conversation."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import TemplateError

from carryover.tasks.services.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

OPENING = {"role": "system", "content": "You write code."}
PROBE = (
    OPENING,
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": "First."},
    {"role": "user", "content": "Go on."},
    {"role": "assistant", "content": "Second."},
)
"""A conversation that shows whether a template rewrites earlier replies."""
WAY_OUT = "set chat_template to 'chatml' or 'qwen3'"


class RenderedReply(NamedTuple):
    """Place of a reply in the text of its conversation."""

    start: int
    """First character that the model generates: all before it is the served prompt."""
    end: int
    """Character after its last one, the end of the turn included."""
    is_learned: bool


class RenderedConversation(NamedTuple):
    """The text of a conversation."""

    text: str
    replies: list[RenderedReply]


def render_conversation(
    tokenizer: "PreTrainedTokenizerBase", messages: Sequence[Mapping[str, Any]]
) -> RenderedConversation:
    """Return a conversation's text and its replies.

    A message with `weight` 0 is not learned.

    Raise `UserError` where the prompt that a server renders for a reply is no prefix of the text: a model would then
    be trained on other prompts than it is served.
    """
    shown = [_without_weight(message) for message in messages]
    text = _write(tokenizer, shown)
    replies = []
    for place, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        prompt = _write(tokenizer, shown[:place], is_prompt=True)
        until = _write(tokenizer, shown[: place + 1])
        if not text.startswith(prompt) or not text.startswith(until):
            raise UserError(
                f"the chat template rewrites earlier turns, so no prompt is a prefix of the text; {WAY_OUT}"
            )
        # White space behind the end of the turn is the template's: no reply generates it.
        end = len(until.rstrip())
        replies.append(RenderedReply(len(prompt), end, is_learned=message.get("weight", 1) != 0))
    return RenderedConversation(text, replies)


def can_train(tokenizer: "PreTrainedTokenizerBase") -> bool:
    """Tell whether a template ends replies and shows them as served.

    Training on another prompt than the served one would teach nothing.
    """
    try:
        text, replies = render_conversation(tokenizer, PROBE)
    except (UserError, TemplateError):
        return False
    said = [message["content"] for message in PROBE if message["role"] == "assistant"]
    return all(text[reply.start : reply.end] != content for reply, content in zip(replies, said, strict=True))


def message_text(tokenizer: "PreTrainedTokenizerBase", role: str, content: str) -> str:
    """Return a message's text within a conversation.

    A system message that a template adds by itself is left out.
    """
    message = {"role": role, "content": content}
    if role == "system":
        return _write(tokenizer, [message])
    try:
        opening = _write(tokenizer, [OPENING])
        both = _write(tokenizer, [OPENING, message])
    except TemplateError:  # no system messages, or none before this role
        return _write(tokenizer, [message])
    if both.startswith(opening):
        return both[len(opening) :]
    return _write(tokenizer, [message])


def _without_weight(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if message["role"] == "assistant":  # leading white space would merge with the line end before it into other tokens
        content = content.lstrip()
    return {"role": message["role"], "content": content}


def _write(tokenizer: "PreTrainedTokenizerBase", messages: Sequence[dict[str, Any]], *, is_prompt: bool = False) -> str:
    text = tokenizer.apply_chat_template(
        list(messages), tokenize=False, add_generation_prompt=is_prompt, enable_thinking=False
    )
    return str(text)
