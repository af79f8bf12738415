"""Tokens of a conversation, without tokenizing generated text again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from carryover.tasks.environment.block_environment import ChatMessage

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_REPLY = "carryover-reply-mark"
"""A reply that no template writes by itself."""


def prompt_ids(tokenizer: "PreTrainedTokenizerBase", messages: Sequence[ChatMessage]) -> list[int]:
    """Return the tokens of opening messages, up to where a reply begins."""
    return _encoded(tokenizer, _rendered(tokenizer, messages))


def bridge_ids(tokenizer: "PreTrainedTokenizerBase", observation: str, last_id: int | None) -> list[int]:
    """Return the tokens between a reply and the next one.

    `last_id` is the last token of the reply: a model that has written the end of its turn writes it once.
    """
    messages = [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": _REPLY},
        {"role": "user", "content": observation},
    ]
    # Behind the mark stands what the template writes after any reply. The reply keeps the tokens that were drawn:
    # decoded and encoded again, it could have others, and the trainer would score tokens that nobody generated.
    _, _, after = _rendered(tokenizer, messages).partition(_REPLY)
    ids = _encoded(tokenizer, after)
    if ids and ids[0] == last_id == tokenizer.eos_token_id:
        return ids[1:]
    return ids


def _rendered(tokenizer: "PreTrainedTokenizerBase", messages: Sequence[ChatMessage]) -> str:
    return str(tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True))


def _encoded(tokenizer: "PreTrainedTokenizerBase", text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))
