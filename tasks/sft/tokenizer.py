"""Tokenizers: byte-level BPE, chat templates, counts as a server's."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from carryover.tasks.agent.protocol import Message
from carryover.tasks.services.chat_text import message_text
from carryover.tasks.sft.training_spec import ChatTemplate, TokenizerSpec

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

END_OF_TURN = "<|im_end|>"
PADDING = "<|endoftext|>"
WORDS = r"\d{1,2}| ?[A-Za-z_]+| ?[^\sA-Za-z0-9_]+|\n *| +"
"""Pieces that no token crosses: names whole, digits by two, a newline with its indentation."""


def chat_template(name: ChatTemplate) -> str:
    """Return the text of one of our chat templates."""
    return (Path(__file__).parent / "templates" / f"{name}.jinja").read_text(encoding="utf-8")


def build_tokenizer(texts: Iterable[str], spec: TokenizerSpec, output: Path) -> Path:
    """Train and save a tokenizer; return its reproducible folder.

    Equal texts in equal order give equal files.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    pieces = pre_tokenizers.Split(Regex(WORDS), "isolated")
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pieces, as_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=spec.vocabulary_size,
        special_tokens=[PADDING, "<|im_start|>", END_OF_TURN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TURN,
        pad_token=PADDING,
        chat_template=chat_template("chatml"),
        clean_up_tokenization_spaces=False,
    ).save_pretrained(output)
    return output


class TokenCounter:
    """Counts tokens of conversations as a server with this tokenizer reports them.

    Templates keep messages apart by control tokens, which no merge crosses, so a conversation's count is the sum of
    its messages' and a growing conversation costs only its new messages.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", cached_messages: int = 100_000) -> None:
        self._tokenizer = tokenizer
        self._count = lru_cache(cached_messages)(
            lambda role, content: self._token_count(message_text(tokenizer, role, content))
        )
        opening = [{"role": "user", "content": ""}]
        self._generation_prompt = self._length(opening, with_prompt=True) - self._length(opening, with_prompt=False)

    def __call__(self, messages: Sequence[Message]) -> int:
        """Return a conversation's tokens, ready to be continued.

        A generation prompt is added unless it ends with a reply.
        """
        prompt = 0 if messages and messages[-1].role == "assistant" else self._generation_prompt
        return prompt + sum(self._count(message.role, message.content) for message in messages)

    def _length(self, messages: list[dict[str, str]], *, with_prompt: bool) -> int:
        text = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=with_prompt)
        return self._token_count(str(text))

    def _token_count(self, text: str) -> int:
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])
