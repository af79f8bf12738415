"""Training of a model: frozen specs and presets (appendix C.2)."""

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from carryover.tasks.services.frozen_model import FrozenModel

PAPER_SEED = 3407
"""Seed of the authors' training configuration."""
Attention = Literal["auto", "flex_attention", "flash_attention_2", "kernels-community/flash-attn2", "sdpa"]
Device = Literal["cpu", "gpu"]
Precision = Literal["bfloat16", "float32"]
ChatTemplate = Literal["chatml", "qwen3"]
"""A chat template in `templates/`."""
LinearLayer = Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
LINEAR_LAYERS: tuple[LinearLayer, ...] = get_args(LinearLayer)
"""Every projection of a Qwen3 layer (appendix C.2)."""


class TokenizerSpec(FrozenModel):
    """A byte-level BPE tokenizer trained on the traces themselves."""

    vocabulary_size: int = Field(default=640, ge=259)
    """Tokens, with the 256 bytes and three control tokens."""


class ArchitectureSpec(FrozenModel):
    """A Qwen3-architecture model small enough to train from scratch on a CPU."""

    hidden_size: int = Field(default=128, gt=0)
    layer_count: int = Field(default=3, gt=0)
    head_size: int = Field(default=32, gt=0, multiple_of=2)
    """Numbers per attention head; hidden_size / head_size heads, each with its own keys and values."""
    intermediate_size: int = Field(default=256, gt=0)
    max_positions: int = Field(default=8192, gt=0)
    """Longest sequence, in tokens."""

    @model_validator(mode="after")
    def _heads_fill_the_width(self) -> "ArchitectureSpec":
        if self.hidden_size % self.head_size:
            raise ValueError(f"hidden_size {self.hidden_size} is not a multiple of head_size {self.head_size}")
        return self


class LoraSpec(FrozenModel):
    """Low-rank adapters on the linear layers."""

    rank: int = Field(default=64, gt=0)
    alpha: int = Field(default=128, gt=0)
    dropout: float = Field(default=0.05, ge=0, lt=1)
    target_modules: Annotated[tuple[LinearLayer, ...], Field(min_length=1)] | Literal["all-linear"] = LINEAR_LAYERS
    """Projections by name, or every linear layer but the output head, whatever an architecture calls them."""
    has_trained_embedding: bool = False
    """Whether the embedding is trained as a whole beside the adapter, and with it the output head that is tied to it.

    A small base has written few tokens often; as long as their rows stand still, no adapter makes it sure of another.
    """

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """The projections of a Qwen3 layer that have an adapter."""
        if self.target_modules == "all-linear":
            return LINEAR_LAYERS
        return self.target_modules


class OptimizerSpec(FrozenModel):
    """Optimizer settings."""

    kind: Literal["adamw", "muon"] = "adamw"
    """`muon` moves the layers' matrices by Muon and everything else (embedding, norms) by AdamW."""
    learning_rate: float = Field(default=1e-4, gt=0)
    """Peak rate of AdamW."""
    matrix_learning_rate: float = Field(default=0.02, gt=0)
    """Peak rate of Muon; unused by `adamw`."""
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    weight_decay: float = Field(default=0.01, ge=0)
    max_gradient_norm: float = Field(default=1.0, gt=0)
    schedule: Literal["cosine", "trapezoid"] = "cosine"
    """After the warm-up: a half cosine to 0, or constant and then linear to `final_ratio` of the peak."""
    warmup_ratio: float = Field(default=0.03, ge=0, lt=1)
    """Share of the steps in which the rate rises from 0."""
    decay_ratio: float = Field(default=0.5, ge=0, le=1)
    """Share of the steps in which a trapezoid falls."""
    final_ratio: float = Field(default=0.03, ge=0, le=1)
    """Where a trapezoid ends, as a share of the peak."""

    @model_validator(mode="after")
    def _rise_and_fall_fit_in(self) -> "OptimizerSpec":
        if self.schedule == "trapezoid" and self.warmup_ratio + self.decay_ratio > 1:
            ratios = f"warmup_ratio {self.warmup_ratio} and decay_ratio {self.decay_ratio}"
            raise ValueError(f"{ratios} are more than all steps together")
        return self


class BatchSpec(FrozenModel):
    """Batch of one optimizer step."""

    max_length: int = Field(default=16384, gt=0)
    """Longest sequence, in tokens."""
    packing: bool = True
    """Fill sequences of `max_length` with whole conversations (best fit); attention stays within a conversation."""
    sequences: int = Field(default=1, gt=0)
    """Sequences per forward pass, with packing."""
    tokens: int = Field(default=3500, gt=0)
    """Padded tokens per forward pass, without packing: conversations of like length share a batch."""
    accumulation: int = Field(default=16, gt=0)
    """Forward passes per optimizer step."""

    @property
    def tokens_per_pass(self) -> int:
        """Tokens of a forward pass, as a rule."""
        if self.packing:
            return self.sequences * self.max_length
        return self.tokens

    def largest_pass(self, longest: int | None = None) -> int:
        """Return a forward pass's tokens, at most.

        A conversation longer than `tokens` has a pass alone. Without packing, `longest` is the longest one's tokens,
        where the data is known.
        """
        if self.packing or longest is None:
            longest = self.max_length
        return max(self.tokens_per_pass, longest)


class TrainingSpec(FrozenModel):
    """One fine-tuning, without its dataset, seed and contract.

    These are arguments of `train`.
    """

    name: str
    base: Literal["scratch", "common", "hub"]
    """New random weights; a base of our own trained before; a model of the hub or a local copy of it."""
    base_model: str | None = None
    """Hub id or folder for `hub`; for `common` the folder is known only at run time and passed to `train`."""
    base_revision: str | None = None
    """Commit of the hub's repository; None for the newest."""
    base_title: str | None = Field(default=None, exclude_if=lambda title: title is None)
    """Name of the base in tables, where its card gives one, e.g. as dequantized from a file."""
    method: Literal["full", "lora", "qlora"]
    """All weights, adapters, or adapters on a base held in NF4 with double quantization."""
    tokenizer: TokenizerSpec | None = None
    """Spec of a scratch model's tokenizer; other bases bring theirs."""
    architecture: ArchitectureSpec | None = None
    """Shape of a scratch model."""
    lora: LoraSpec | None = None
    """Adapter's shape for `lora` and `qlora`."""
    chat_template: ChatTemplate | None
    """Our template of that name, which the trained model is also served with; None for the base's own."""
    optimizer: OptimizerSpec = OptimizerSpec()
    batch: BatchSpec = BatchSpec()
    epochs: float = Field(default=3.0, gt=0)
    """Passes over the data; a fraction ends within a pass."""
    max_steps: int | None = Field(default=None, gt=0)
    """Most optimizer steps; None for all that the epochs give."""
    validation_share: float = 0.05
    """Share of the conversations held out for the validation loss; 0 for none."""
    precision: Precision = "bfloat16"
    """Number format of the weights that are not quantized, and of the computation."""
    attention: Attention = "auto"
    """Implementation of attention; `auto` for the fastest that is installed (`choose_attention`)."""
    gradient_checkpointing: bool = True
    """Recompute activations in the backward pass to save memory, but for attention's."""
    logging_steps: int = Field(default=10, gt=0)
    save_steps: int = Field(default=100, gt=0)
    """Optimizer steps between checkpoints at most; a short training saves more often (`find_intervals`)."""
    evaluation_steps: int = Field(default=100, gt=0)
    """Optimizer steps between validation losses at most; each training takes ten of them."""
    kept_checkpoints: int = Field(default=3, gt=0)
    cpu_threads: int = Field(default=1, gt=0)
    """Torch threads on a CPU: arms train side by side, one core each."""
    device: Device = "cpu"
    """Where it is planned to train: a run refuses a plan for GPUs on a machine that has none."""

    @property
    def is_for_gpu(self) -> bool:
        """Whether it is planned for a GPU."""
        return self.device == "gpu"

    @model_validator(mode="after")
    def _parts_fit_together(self) -> "TrainingSpec":
        is_scratch = self.base == "scratch"
        needs = {"architecture": is_scratch, "tokenizer": is_scratch, "lora": self.method != "full"}
        for field, is_needed in needs.items():
            if is_needed != (getattr(self, field) is not None):
                state = "missing" if is_needed else "given but unused"
                raise ValueError(f"{field} is {state} for base {self.base!r} and method {self.method!r}")
        if is_scratch and self.method != "full":
            raise ValueError("an adapter on random weights learns nothing; train a scratch model with method 'full'")
        if self.base == "hub" and self.base_model is None:
            raise ValueError("base 'hub' needs base_model, a hub id or a folder")
        if self.save_steps % self.logging_steps:
            raise ValueError(
                f"save_steps {self.save_steps} is not a multiple of logging_steps {self.logging_steps}: "
                "a resumed run would log other averages than an unbroken one"
            )
        if not 0 <= self.validation_share < 1:
            raise ValueError(f"validation_share {self.validation_share} is not in [0, 1)")
        return self


_LAPTOP_SCRATCH = TrainingSpec(
    name="laptop_scratch",
    base="scratch",
    method="full",
    tokenizer=TokenizerSpec(),
    architecture=ArchitectureSpec(),
    chat_template="chatml",
    optimizer=OptimizerSpec(kind="muon", learning_rate=3e-3, beta2=0.95, schedule="trapezoid"),
    batch=BatchSpec(max_length=8192, packing=False, accumulation=1),  # about 3,500 padded tokens per step
    epochs=1.0,
    validation_share=0.04,
    precision="float32",
    gradient_checkpointing=False,
    evaluation_steps=200,
    kept_checkpoints=2,
)

_LAPTOP_COMMON = _LAPTOP_SCRATCH.model_copy(
    update={
        "name": "laptop_common",
        "base": "common",
        "method": "lora",
        "tokenizer": None,
        "architecture": None,
        "lora": LoraSpec(rank=64, alpha=128, dropout=0.0, has_trained_embedding=True),
    }
)

_SHORT = {"validation_share": 0.0, "logging_steps": 5, "save_steps": 10, "evaluation_steps": 10}

TRAINING: dict[str, TrainingSpec] = {
    "paper": TrainingSpec(  # 1 sequence x 16 accumulated x 16k tokens = 262k tokens per step, padding-free
        name="paper",
        base="hub",
        base_model="Qwen/Qwen3-8B",
        base_revision="b968826d9c46dd6066d109eabc6255188de91218",
        method="qlora",
        lora=LoraSpec(),
        chat_template="qwen3",
        device="gpu",
    ),
    "pretrained": TrainingSpec(  # 1 sequence x 16 accumulated x 16k tokens, or what the base's positions allow
        name="pretrained",
        base="hub",
        base_model="Qwen/Qwen3-1.7B",
        method="qlora",
        lora=LoraSpec(target_modules="all-linear"),
        chat_template=None,
        device="gpu",
    ),
    "laptop_scratch": _LAPTOP_SCRATCH,
    "laptop_base": _LAPTOP_SCRATCH.model_copy(update={"name": "laptop_base"}),
    "laptop_common": _LAPTOP_COMMON,
    "smoke": _LAPTOP_SCRATCH.model_copy(
        update={
            "name": "smoke",
            "tokenizer": TokenizerSpec(vocabulary_size=400),
            "architecture": ArchitectureSpec(hidden_size=32, layer_count=1, head_size=16, intermediate_size=64),
            "max_steps": 20,
            **_SHORT,
        }
    ),
    "smoke_common": _LAPTOP_COMMON.model_copy(
        update={"name": "smoke_common", "lora": LoraSpec(rank=4, alpha=8, dropout=0.0), "max_steps": 10, **_SHORT}
    ),
}
"""The named trainings: `laptop_base` is the common base that `laptop_common` adapts."""
