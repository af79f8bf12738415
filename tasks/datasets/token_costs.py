"""Token counts of messages, measured in batches, each text once."""

import copy
import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from jinja2 import TemplateError

from carryover.tasks.datasets.conversations import TrainingMessage
from carryover.tasks.datasets.truncation import CostedMessage
from carryover.tasks.services.chat_text import message_text
from carryover.tasks.services.errors import UserError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase


class TokenCosts:
    """Tokens of messages, as the paper counts and as training sees.

    Texts that traces share (prompts, demonstrations, repeated replies) are tokenized once.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", overhead: int) -> None:
        """Count with a tokenizer and its chat template.

        Raise `UserError` if it is slow or writes no lone message.
        """
        self._template = tokenizer
        self._tokenizer = _backend(tokenizer)
        self._overhead = overhead
        self._token_counts: dict[str, int] = {}
        self._around = {
            role: len(self._tokenizer.encode(self._written(role, ""), add_special_tokens=False))
            for role in ("system", "user", "assistant")
        }

    def measure(self, messages: Iterable[TrainingMessage]) -> None:
        """Tokenize the texts that have not been seen, in parallel."""
        wanted: dict[str, None] = {}
        for each in messages:
            wanted[each.content] = None
            wanted[self._shown(each)] = None
        texts = [text for text in wanted if text not in self._token_counts]
        encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        self._token_counts.update(zip(texts, map(len, encodings), strict=True))

    def costed(self, message: TrainingMessage) -> CostedMessage:
        """Return a measured message with what it takes of both budgets."""
        return CostedMessage(message, self._token_counts[message.content] + self._overhead, self.length(message))

    def length(self, message: TrainingMessage) -> int:
        """Return a measured message's tokens in the training text.

        Control tokens keep messages apart, so the lengths of a conversation add up.
        """
        shown = self._shown(message)
        return self._token_counts[shown] + (0 if _merges(message) else self._around[message.role])

    def _shown(self, message: TrainingMessage) -> str:
        """Return the part of a text that decides a message's length.

        Our templates show no more of it.
        """
        if _merges(message):
            return self._written(message.role, message.content)
        if message.role == "assistant":
            return message.content.lstrip()
        return message.content

    def _written(self, role: str, content: str) -> str:
        try:
            return message_text(self._template, role, content)
        except TemplateError as error:
            raise UserError(
                f"the chat template writes no {role} message by itself ({error}), so lengths cannot be counted; "
                "set chat_template to 'chatml' or 'qwen3'"
            ) from error


def _merges(message: TrainingMessage) -> bool:
    """Tell whether a content may merge with a template's line end."""
    return message.role != "assistant" and message.content[:1].isspace()


def tokenizer_digest(tokenizer: "PreTrainedTokenizerBase") -> str:
    """Return a digest of everything that decides the tokens of a conversation."""
    return hashlib.sha256(f"{_backend(tokenizer).to_str()}{tokenizer.chat_template}".encode()).hexdigest()


def _backend(tokenizer: "PreTrainedTokenizerBase") -> "Tokenizer":
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise UserError(
            f"the tokenizer {type(tokenizer).__name__} has no fast implementation, which counts tokens in parallel; "
            "load it with AutoTokenizer or name another model"
        )
    backend = copy.deepcopy(backend)  # a length that an earlier use left behind would falsify the counts
    backend.no_truncation()
    backend.no_padding()
    return backend
