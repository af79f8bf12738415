"""The command lines of both servers, from the same spec."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.whole_files import write_whole
from carryover.tasks.serving.serving_spec import ServedModels, ServingSpec


def own_command(spec: ServingSpec, models: ServedModels, *, host: str, port: int) -> list[str]:
    """Return the command of our own server, on the CPU or a GPU.

    Raise `UserError` for adapters of different chat templates.
    """
    command = [sys.executable, "-m", "carryover.tasks.serving.cpu_server", "--model", models.base]
    command += _shared_flags(spec, models, host, port)
    if spec.engine == "gpu":
        command += ["--device", "cuda", "--gpu-memory-utilization", str(spec.gpu_memory_share)]
    else:
        command += ["--threads", str(spec.cpu_threads), "--kv-cache-memory-bytes", str(spec.cache_bytes)]
    if models.checkpoints:
        command += ["--checkpoints", *(f"{name}={path}" for name, path in models.checkpoints.items())]
    return command


def vllm_command(
    spec: ServingSpec,
    models: ServedModels,
    *,
    host: str,
    port: int,
    base_template: str | None = None,
    template_folder: Path | None = None,
) -> list[str]:
    """Return the `vllm serve` command with all adapters (appendix B).

    The attention backend and the seed are pinned, so that runs repeat; `vllm_environment` adds the kernels.
    `--enable-prompt-tokens-details` makes the server tell how much of a prompt came from its cache.
    `--generation-config vllm` keeps out the sampling that a model's files ask for (top_p, top_k): what a request does
    not name is off, as on our own server. One template serves all models: with `base_template`, the text of the base's
    own, it is written to `template_folder` as one that shows a request with `is_base` the way the base was made for.
    Adapters that one command cannot name, or one template cannot serve, are a `UserError`.
    """
    for name, path in models.adapters.items():
        if {"=", ","} & set(f"{name}{path}"):
            raise UserError(f"vllm reads no adapter whose name or path holds '=' or ',': {name} at {path}; rename it")
    command = ["vllm", "serve", models.base]
    command += _shared_flags(spec, models, host, port)
    if models.base_revision is not None:
        command += ["--tokenizer-revision", models.base_revision]
    command += [
        *("--dtype", spec.dtype),
        *("--gpu-memory-utilization", str(spec.gpu_memory_share)),
        *("--tensor-parallel-size", str(spec.tensor_parallel)),
        *("--attention-backend", spec.attention_backend),
        *("--seed", "0"),
        "--enable-prompt-tokens-details",
        *("--generation-config", "vllm"),
    ]
    if models.adapters:
        rank = str(spec.max_lora_rank)
        count = str(len(models.adapters))
        command += ["--enable-lora", "--max-lora-rank", rank, "--max-loras", count]
    own = adapters_template(models)
    if own is not None and base_template is not None and template_folder is not None:
        either = _write_either_template(template_folder, base_template, own)
        command[command.index("--chat-template") + 1] = str(either)
    if spec.load_format != "auto":
        command += ["--load-format", spec.load_format]
    return command


def _write_either_template(folder: Path, base_template: str, adapters_template: Path) -> Path:
    """Write a template that shows requests with `is_base` by the base's own text."""
    trained = adapters_template.read_text(encoding="utf-8")
    either = folder / "either_template.jinja"
    write_whole(either, f"{{%- if is_base -%}}{base_template}{{%- else -%}}{trained}{{%- endif -%}}")
    return either


def vllm_environment(spec: ServingSpec, variables: Mapping[str, str]) -> dict[str, str]:
    """Return vLLM's environment: no reports, batch-invariant replies if specified."""
    return {**variables, "VLLM_BATCH_INVARIANT": str(int(spec.is_batch_invariant)), "DO_NOT_TRACK": "1"}


def _shared_flags(spec: ServingSpec, models: ServedModels, host: str, port: int) -> list[str]:
    flags = [
        *("--served-model-name", models.base_name),
        *("--host", host),
        *("--port", str(port)),
        *("--max-model-len", str(spec.context_tokens)),
        *("--max-num-seqs", str(spec.max_concurrent)),
        *("--default-chat-template-kwargs", json.dumps({"enable_thinking": spec.is_thinking})),
    ]
    if models.base_revision is not None:
        flags += ["--revision", models.base_revision]
    if models.adapters:
        flags += ["--lora-modules", *(f"{name}={path}" for name, path in models.adapters.items())]
    if (template := adapters_template(models)) is not None:
        flags += ["--chat-template", str(template)]
    return flags


def adapters_template(models: ServedModels) -> Path | None:
    """Return the chat template that the adapters were trained with.

    A served prompt must be a prefix of such a text.
    """
    files = [path / "chat_template.jinja" for path in models.adapters.values()]
    saved = [file for file in files if file.is_file()]
    if len({path.read_text(encoding="utf-8") for path in saved}) > 1:
        names = ", ".join(models.adapters)
        raise UserError(f"adapters {names} were trained with different chat templates; serve each by a server")
    if saved:
        return saved[0]
    return None
