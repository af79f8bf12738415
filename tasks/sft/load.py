"""Loading what a training starts from, with one clear line for everything that can be wrong with it."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from carryover.tasks.running.errors import UserError
from carryover.tasks.sft.hub import explained
from carryover.tasks.sft.spec import TrainingSpec
from carryover.tasks.sft.tiny import new_model
from carryover.tasks.sft.tokenizer import chat_template, load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from transformers.utils.quantization_config import BitsAndBytesConfig

HUB_KERNEL = "kernels-community/flash-attn2"
"""FlashAttention as the hub distributes it, built for the installed torch."""


def load_start(spec: TrainingSpec, source: str, seed: int) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase"]:
    """Return model and tokenizer that a training starts from, the tokenizer with the template of the training.

    Args:
        spec: The training.
        source: Tokenizer's folder for `scratch`; folder or hub id of the base otherwise.
        seed: Seed of scratch weights.

    Raises:
        UserError: The base is missing or gated, or its chat template shows no replies.
    """
    if spec.architecture is not None:
        tokenizer = load_tokenizer(source)
        model = new_model(spec.architecture, tokenizer, seed)
    else:
        tokenizer, model = _load_base(spec, source)
    return model, _with_template(spec, tokenizer)


def load_training_tokenizer(spec: TrainingSpec, source: str | Path) -> "PreTrainedTokenizerBase":
    """Return the tokenizer of a folder or hub id with the chat template that a training uses.

    Raises:
        UserError: There is none, or its own template shows no replies and the spec names no other.
    """
    return _with_template(spec, load_tokenizer(source))


def _with_template(spec: TrainingSpec, tokenizer: "PreTrainedTokenizerBase") -> "PreTrainedTokenizerBase":
    tokenizer.chat_template = chat_template(spec.chat_template) if spec.chat_template else _own_template(tokenizer)
    return tokenizer


def _load_base(spec: TrainingSpec, source: str) -> tuple["PreTrainedTokenizerBase", "PreTrainedModel"]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with explained(source, "base model"):
        tokenizer = AutoTokenizer.from_pretrained(source, revision=spec.base_revision)
        model = AutoModelForCausalLM.from_pretrained(
            source,
            revision=spec.base_revision,
            dtype=getattr(torch, spec.precision),
            quantization_config=_four_bit() if spec.method == "qlora" else None,
            attn_implementation=choose_attention(spec, has_gpu=torch.cuda.is_available()),
            device_map={"": torch.cuda.current_device()} if torch.cuda.is_available() else None,
        )
    return tokenizer, model


def _four_bit() -> "BitsAndBytesConfig":
    """NF4 with double quantization and bfloat16 compute (appendix C.2)."""
    import torch
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def choose_attention(spec: TrainingSpec, *, has_gpu: bool) -> str:
    """Return the attention of a training: the spec's, or the fastest that keeps packed conversations apart.

    FlashAttention comes from its package, or from the hub where `kernels` is installed; PyTorch's flex_attention needs
    neither and skips the same blocks. On a CPU it has no backward pass, so `sdpa` computes with a dense mask there.
    """
    if spec.attention != "auto":
        return spec.attention
    if not has_gpu:
        return "sdpa"
    if find_spec("flash_attn") is not None:
        return "flash_attention_2"
    return HUB_KERNEL if find_spec("kernels") is not None else "flex_attention"


def _own_template(tokenizer: "PreTrainedTokenizerBase") -> str:
    from trl.chat_template_utils import get_training_chat_template

    if tokenizer.chat_template is None:
        raise UserError("the base's tokenizer has no chat template; set chat_template to 'chatml' or 'qwen3'")
    try:
        patched = get_training_chat_template(tokenizer)
    except ValueError as error:
        raise UserError(
            "the base's chat template does not mark replies and TRL has no patch for it, so nothing but whole "
            "conversations could be learned; set chat_template to 'chatml' or 'qwen3'"
        ) from error
    return patched or str(tokenizer.chat_template)
