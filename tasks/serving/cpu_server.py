"""`python -m carryover.tasks.serving.cpu_server`: an OpenAI-compatible server for small models, with vLLM's flags."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.cpu.padded import COPIED_BYTES
from carryover.tasks.serving.serving_spec import ServedModels

HUGE_PAGES_VARIABLE = "THP_MEM_ALLOC_ENABLE"
"""Torch reads it with its first allocation: 1 asks the kernel for huge pages where a tensor is large."""
GPU_BLOCKS_VARIABLE = "PYTORCH_CUDA_ALLOC_CONF"
"""Torch reads it with its first allocation on a GPU."""


def _name_and_path(item: str) -> tuple[str, Path]:
    name, _, path = item.partition("=")
    if not (name and path):
        raise argparse.ArgumentTypeError(f"{item!r} is not of the form NAME=PATH")
    return name, Path(path)


def parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the flags; names follow vLLM wherever it has them."""
    parser = argparse.ArgumentParser(prog="python -m carryover.tasks.serving.cpu_server", description=__doc__)
    named: dict[str, Any] = {"nargs": "*", "default": [], "metavar": "NAME=PATH", "type": _name_and_path}
    parser.add_argument("--model", required=True, help="directory or hub name of the base model")
    parser.add_argument("--revision", help="commit, branch or tag of a base from the hub (default: the newest)")
    parser.add_argument("--served-model-name", help="name of the base model in requests (default: --model)")
    parser.add_argument("--lora-modules", help="LoRA adapters on the base", **named)
    parser.add_argument("--checkpoints", help="whole models", **named)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--max-model-len", type=int, help="longest prompt and reply together, in tokens")
    parser.add_argument("--max-num-seqs", type=int, default=128, help="requests of a model decoded at the same time")
    parser.add_argument("--kv-cache-memory-bytes", type=int, default=2 * 1024**3, help="all conversations together")
    parser.add_argument("--chat-template", type=Path, help="template file of the adapters (default: the base's)")
    parser.add_argument("--default-chat-template-kwargs", type=json.loads, default={}, metavar="JSON")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where weights and caches lie")
    share = "share of a GPU's memory for weights and conversations, in place of --kv-cache-memory-bytes"
    parser.add_argument("--gpu-memory-utilization", type=float, default=0.95, help=share)
    parser.add_argument("--threads", type=int, default=1, help="torch threads")
    return parser.parse_args(arguments)


def serve(options: argparse.Namespace) -> None:
    """Load the models and answer requests until stopped."""
    import torch
    import uvicorn

    from carryover.tasks.serving.cpu.api import ChatApi
    from carryover.tasks.serving.cpu.cache import CachePool
    from carryover.tasks.serving.cpu.model_engine import ModelEngine
    from carryover.tasks.serving.cpu.models import load_models
    from carryover.tasks.serving.cpu.scheduler import Scheduler

    torch.set_num_threads(options.threads)
    served = ServedModels(
        base=options.model,
        base_revision=options.revision,
        base_name=options.served_model_name or options.model,
        adapters=dict(options.lora_modules),
        checkpoints=dict(options.checkpoints),
    )
    if options.device == "cuda" and not torch.cuda.is_available():
        raise UserError("torch finds no GPU here; serve with --engine cpu (this program: --device cpu)")
    models = load_models(served, template_path=options.chat_template, device=options.device)
    pool = CachePool(cache_bytes(options))
    engines = [ModelEngine(model, pool, max_running=options.max_num_seqs) for model in models]
    limits = [model.max_positions for model in models]
    max_tokens = min(options.max_model_len or limits[0], *limits)
    variables = options.default_chat_template_kwargs
    api = ChatApi(models, Scheduler(engines), max_tokens=max_tokens, template_kwargs=variables)
    print(f"loaded {', '.join(model.name for model in models)}; context of {max_tokens} tokens", flush=True)
    uvicorn.run(
        api.build_app(),
        host=options.host,
        port=options.port,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=2,  # seconds that running requests get when the server is told to stop
    )


def cache_bytes(options: argparse.Namespace) -> int:
    """Return the bytes of all conversations together, beside the weights."""
    import torch

    if options.device == "cpu":
        return options.kv_cache_memory_bytes
    share = options.gpu_memory_utilization
    free, whole = torch.cuda.mem_get_info()
    own = int(share * whole) - torch.cuda.memory_allocated()
    left = min(own, free) - COPIED_BYTES  # other processes may hold some of the share
    if left <= 0:
        raise UserError(
            f"a share of {share} of this GPU's {whole / 1024**3:.0f} GiB, {free / 1024**3:.0f} GiB of them free, holds "
            "the weights and no conversations; raise --gpu-memory-share (this program: --gpu-memory-utilization), free "
            "some memory, or serve fewer models"
        )
    return left


def main() -> None:
    """Run the server; end with a line for an unservable model.

    The exit status is then 1.
    """
    options = parse_options(sys.argv[1:])
    # Caches are large and grow by copies; in small pages, their page faults take a third of a prompt's time.
    os.environ.setdefault(HUGE_PAGES_VARIABLE, "1")
    # Blocks of outgrown caches fit no larger one and stay taken: on an H200 a server held more than its share.
    os.environ.setdefault(GPU_BLOCKS_VARIABLE, "expandable_segments:True")
    try:
        serve(options)
    except UserError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
