"""Loading the start of a training: model, tokenizer, chat template."""

import re
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carryover.tasks.services.chat_text import WAY_OUT, can_train
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import explained, import_bitsandbytes, load_tokenizer
from carryover.tasks.sft.model_shape import scratch_shape
from carryover.tasks.sft.tokenizer import END_OF_TURN, PADDING, chat_template
from carryover.tasks.sft.training_spec import ArchitectureSpec, TrainingSpec

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from transformers.utils.quantization_config import BitsAndBytesConfig


def load_start_tokenizer(spec: TrainingSpec, source: str) -> "PreTrainedTokenizerBase":
    """Return the tokenizer that a training starts from, with its chat template.

    `source` is the tokenizer's folder for `scratch`, and the base's folder or hub id otherwise. A base that is missing
    or gated, or whose chat template shows no replies, is a `UserError`.
    """
    if spec.architecture is not None:
        return with_template(spec, load_tokenizer(source))
    from transformers import AutoTokenizer

    with explained(source, "base model"):
        tokenizer = AutoTokenizer.from_pretrained(source, revision=spec.base_revision)
    return with_template(spec, tokenizer)


def load_start_model(
    spec: TrainingSpec, source: str, tokenizer: "PreTrainedTokenizerBase", seed: int
) -> "PreTrainedModel":
    """Return the model that a training starts from: an untrained one, or its base.

    Raise what `load_start_tokenizer` does.
    """
    if spec.architecture is not None:
        return new_model(spec.architecture, tokenizer, seed)
    import torch
    from transformers import AutoModelForCausalLM

    with explained(source, "base model"):
        return AutoModelForCausalLM.from_pretrained(
            source,
            revision=spec.base_revision,
            dtype=getattr(torch, spec.precision),
            quantization_config=four_bit_settings() if spec.method == "qlora" else None,
            attn_implementation=choose_attention(spec, has_gpu=torch.cuda.is_available()),
            device_map={"": torch.cuda.current_device()} if torch.cuda.is_available() else None,
        )


def with_template(spec: TrainingSpec, tokenizer: "PreTrainedTokenizerBase") -> "PreTrainedTokenizerBase":
    """Return a tokenizer with a training's chat template, or raise `UserError`."""
    if spec.chat_template:
        tokenizer.chat_template = chat_template(spec.chat_template)
        return tokenizer
    from trl.chat_template_utils import get_training_chat_template

    if tokenizer.chat_template is None:
        raise UserError(f"the base's tokenizer has no chat template; {WAY_OUT}")
    if can_train(tokenizer):
        return tokenizer
    with suppress(ValueError):  # Qwen3's own drops think blocks of earlier replies, which TRL's variant keeps
        tokenizer.chat_template = get_training_chat_template(tokenizer) or tokenizer.chat_template
    if not can_train(tokenizer):
        raise UserError(
            "unsupported chat template of the base: it rewrites earlier turns or ends none, and TRL has no variant of "
            f"it; {WAY_OUT}"
        )
    return tokenizer


def four_bit_settings() -> "BitsAndBytesConfig":
    """Return NF4 with double quantization and bfloat16 compute (appendix C.2)."""
    import torch
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def choose_attention(spec: TrainingSpec, *, has_gpu: bool) -> str:
    """Return a training's attention: the spec's, or the fastest that fits.

    FlashAttention comes from its package, or from the hub where `kernels` is installed; PyTorch's flex_attention needs
    neither and skips the same blocks. On a CPU it has no backward pass, so `sdpa` computes with a dense mask there.
    """
    if spec.attention != "auto":
        return spec.attention
    if not has_gpu:
        return "sdpa"
    if find_spec("flash_attn") is not None:
        return "flash_attention_2"
    if find_spec("kernels") is None:
        return "flex_attention"
    return "kernels-community/flash-attn2"


def quiet_libraries() -> None:
    """Silence training libraries' progress bars and notices, not their errors."""
    import_bitsandbytes()
    import datasets
    import transformers

    datasets.disable_progress_bars()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()


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
    """Save a scratch training's initial weights: the study's base row."""
    tokenizer = load_tokenizer(tokenizer_path)
    save_model(new_model(spec, tokenizer, seed), output)
    tokenizer.save_pretrained(output)
    return output


def save_model(model: "PreTrainedModel | PeftModel", output: Path, **options: Any) -> None:
    """Save weights and configuration; raise `UserError` on a full disk."""
    from safetensors import SafetensorError

    try:
        model.save_pretrained(output, **options)
    except SafetensorError as error:
        found = re.search(r"I/O error: (.+) \(os error (?:27|28|122)\)", str(error))  # EFBIG, ENOSPC or EDQUOT
        if found is None:
            raise
        raise UserError(f"cannot write {output}: {found[1]}; free space there") from error
