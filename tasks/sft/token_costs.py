"""Token costs of messages as measured with the training tokenizer, in batches and each text once."""

import copy
import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tasks.running.errors import UserError
from tasks.sft.conversations import TrainingMessage

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

BATCH_TEXTS = 4096
"""Texts per batch: enough for every core, few enough that their encodings stay small."""


class TokenCosts:
    """Costs of messages: tokens of the content, without control tokens, and a fixed overhead.

    Texts that traces share (prompts, demonstrations, repeated replies) are tokenized once.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", overhead: int) -> None:
        self._tokenizer = _backend(tokenizer)
        self._overhead = overhead
        self._token_counts: dict[str, int] = {}

    def measure(self, messages: Iterable[TrainingMessage]) -> None:
        """Tokenize the contents that have not been seen, in parallel."""
        texts = list(dict.fromkeys(each.content for each in messages if each.content not in self._token_counts))
        for start in range(0, len(texts), BATCH_TEXTS):
            batch = texts[start : start + BATCH_TEXTS]
            encodings = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            self._token_counts.update(zip(batch, map(len, encodings), strict=True))

    def token_count(self, message: TrainingMessage) -> int:
        """Return the tokens of a measured message's content."""
        return self._token_counts[message.content]

    def cost(self, message: TrainingMessage) -> int:
        """Return the cost of a measured message, in tokens."""
        return self._token_counts[message.content] + self._overhead


def tokenizer_digest(tokenizer: "PreTrainedTokenizerBase") -> str:
    """Return a digest of everything that decides the tokens of a text."""
    return hashlib.sha256(_backend(tokenizer).to_str().encode()).hexdigest()


def _backend(tokenizer: "PreTrainedTokenizerBase") -> "Tokenizer":
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise UserError(
            f"the tokenizer {type(tokenizer).__name__} has no fast implementation, which counts tokens in parallel; "
            "load it with AutoTokenizer or name another model"
        )
    if backend.truncation is None and backend.padding is None:
        return backend
    backend = copy.deepcopy(backend)  # whoever used it last left a length behind, which would falsify the counts
    backend.no_truncation()
    backend.no_padding()
    return backend
