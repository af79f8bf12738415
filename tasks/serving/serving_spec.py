"""Specs of the served models of a study and of their server."""

from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, model_validator

from carryover.tasks.agent.credentials import PlainAddress
from carryover.tasks.services.frozen_model import FrozenModel

ServedRank = Literal[1, 8, 16, 32, 64, 128, 256, 320, 512]
SERVED_RANKS: tuple[ServedRank, ...] = get_args(ServedRank)
"""Ranks that vLLM makes room for, ascending."""

OwnEngine = Literal["cpu", "gpu", "vllm"]
"""Engines that are started here."""


class ServingSpec(FrozenModel):
    """The evaluation's server and its limits (section 4.1, appendix B)."""

    engine: Literal[OwnEngine, "external"] = "cpu"
    """Our own server on the CPU or on a GPU, vLLM on a GPU, or an endpoint that somebody else runs."""
    url: PlainAddress | None = None
    """Base URL of an `external` endpoint, e.g. `http://gpu-host:8000/v1`."""
    api_key_variable: str | None = None
    """Environment variable or `secret/NAME` block with the key of an `external` endpoint; None for no key."""
    context_tokens: int = Field(default=40_960, gt=0)
    """Longest prompt and reply together, in tokens; refused with 400 above."""
    max_concurrent: int = Field(default=4, gt=0)
    """Requests decoded at the same time; the rest queue."""
    is_thinking: bool = False
    """Whether the chat template may open a think block."""
    startup_timeout_seconds: float = 900.0
    """Startup timeout: loading that takes longer counts as failed."""
    cpu_threads: int = Field(default=1, gt=0)
    """Torch threads of a CPU server."""
    cache_bytes: int = Field(default=2 * 1024**3, gt=0)
    """Key-value cache of a CPU server, all conversations together."""
    dtype: Literal["bfloat16", "float16", "float32"] = "bfloat16"
    """Weights and activations under vLLM; our server computes in float32."""
    gpu_memory_share: float = Field(default=0.95, gt=0, le=1)
    """Share of the GPU's memory that a server may take."""
    attention_backend: str = "FLASH_ATTN"
    """Attention kernels of vLLM; left to itself it chooses by GPU and version."""
    is_batch_invariant: bool = True
    """Whether vLLM's kernels give a request the same logits beside any others (compute capability 8.0 and above)."""
    tensor_parallel: int = Field(default=1, gt=0)
    """GPUs that share the model under vLLM."""
    max_lora_rank: ServedRank = 64
    """Rank of the largest adapter, one that vLLM makes room for."""
    load_format: Literal["auto", "dummy"] = "auto"
    """Where vLLM takes the base's weights from: its files, or random ones of the same shape, to measure the server."""

    def elsewhere(self, url: str, key_variable: str | None) -> "ServingSpec":
        """Return the spec of another's endpoint, other fields unchanged."""
        return self.model_copy(update={"engine": "external", "url": url, "api_key_variable": key_variable})

    @model_validator(mode="after")
    def _url_belongs_to_external(self) -> "ServingSpec":
        if (self.engine == "external") != (self.url is not None):
            raise ValueError(f"engine {self.engine!r} with url {self.url!r}: 'external' needs a url, others none")
        return self


class ServedModels(FrozenModel):
    """The models of one endpoint, by the names of requests."""

    base: str
    """Directory or hub name of the base model."""
    base_revision: str | None = None
    """Commit of the hub's repository that the base is taken from; None for the newest."""
    base_name: str = "base"
    """Name of the base model itself."""
    adapters: dict[str, Path] = Field(default={})
    """LoRA adapter directories on the base, by name."""
    checkpoints: dict[str, Path] = Field(default={})
    """Directories of whole models, by name; only our server takes them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that the endpoint answers to."""
        return (self.base_name, *self.adapters, *self.checkpoints)

    @model_validator(mode="after")
    def _names_are_distinct(self) -> "ServedModels":
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"names of served models must differ, got {', '.join(self.names)}")
        return self
