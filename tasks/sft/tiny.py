"""Scratch models: the Qwen3 architecture, small, with weights that are a function of the seed."""

from pathlib import Path
from typing import TYPE_CHECKING

from carryover.tasks.sft.model_shape import scratch_shape
from carryover.tasks.sft.spec import ArchitectureSpec
from carryover.tasks.sft.tokenizer import END_OF_TURN, PADDING, load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def new_model(spec: ArchitectureSpec, tokenizer: "PreTrainedTokenizerBase", seed: int) -> "PreTrainedModel":
    """Return an untrained float32 model for the tokenizer's vocabulary, embeddings tied."""
    import torch
    from transformers import Qwen3ForCausalLM

    tokens = tokenizer.get_vocab()
    config = scratch_shape(spec, len(tokenizer)).configuration(
        bos_token_id=None, eos_token_id=tokens[END_OF_TURN], pad_token_id=tokens[PADDING], dtype="float32"
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config)


def save_untrained(spec: ArchitectureSpec, tokenizer_path: Path, output: Path, seed: int) -> Path:
    """Save the weights that a scratch training with this seed starts from: the base row of a scratch study."""
    tokenizer = load_tokenizer(tokenizer_path)
    new_model(spec, tokenizer, seed).save_pretrained(output)
    tokenizer.save_pretrained(output)
    return output
