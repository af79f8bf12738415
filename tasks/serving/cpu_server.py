"""`python -m carryover.tasks.serving.cpu_server`: an OpenAI-compatible server for small models, with vLLM's flags."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from carryover.tasks.serving.spec import ServedModels

HUGE_PAGES_VARIABLE = "THP_MEM_ALLOC_ENABLE"
"""Torch reads it with its first allocation: 1 asks the kernel for huge pages where a tensor is large."""
SHUTDOWN_SECONDS = 2
"""Time that running requests get when the server is told to stop."""


class ServerOptions(NamedTuple):
    """What the command line asks for."""

    models: ServedModels
    host: str
    port: int
    max_tokens: int | None
    max_running: int
    cache_bytes: int
    threads: int
    template: Path | None
    template_kwargs: dict[str, object]


def parse_options(arguments: Sequence[str]) -> ServerOptions:
    """Read the flags; names follow vLLM wherever it has them."""
    parser = argparse.ArgumentParser(prog="python -m carryover.tasks.serving.cpu_server", description=__doc__)
    parser.add_argument("--model", required=True, help="directory or hub name of the base model")
    parser.add_argument("--revision", help="commit, branch or tag of a base from the hub (default: the newest)")
    parser.add_argument("--served-model-name", help="name of the base model in requests (default: --model)")
    parser.add_argument("--lora-modules", nargs="*", default=[], metavar="NAME=PATH", help="LoRA adapters on the base")
    parser.add_argument("--checkpoints", nargs="*", default=[], metavar="NAME=PATH", help="whole models")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--max-model-len", type=int, help="longest prompt and reply together, in tokens")
    parser.add_argument("--max-num-seqs", type=int, default=128, help="requests of a model decoded at the same time")
    parser.add_argument("--kv-cache-memory-bytes", type=int, default=2 * 1024**3, help="all conversations together")
    parser.add_argument("--chat-template", type=Path, help="template file of the adapters (default: the base's)")
    parser.add_argument("--default-chat-template-kwargs", type=json.loads, default={}, metavar="JSON")
    parser.add_argument("--threads", type=int, default=1, help="torch threads")
    read = parser.parse_args(arguments)
    models = ServedModels(
        base=read.model,
        base_revision=read.revision,
        base_name=read.served_model_name or read.model,
        adapters=dict(_name_and_path(parser, item) for item in read.lora_modules),
        checkpoints=dict(_name_and_path(parser, item) for item in read.checkpoints),
    )
    return ServerOptions(
        models=models,
        host=read.host,
        port=read.port,
        max_tokens=read.max_model_len,
        max_running=read.max_num_seqs,
        cache_bytes=read.kv_cache_memory_bytes,
        threads=read.threads,
        template=read.chat_template,
        template_kwargs=read.default_chat_template_kwargs,
    )


def _name_and_path(parser: argparse.ArgumentParser, item: str) -> tuple[str, Path]:
    name, separator, path = item.partition("=")
    if not (name and separator and path):
        parser.error(f"{item!r} is not of the form NAME=PATH")
    return name, Path(path)


def serve(options: ServerOptions) -> None:
    """Load the models and answer requests until the process is told to stop."""
    import torch
    import uvicorn

    from carryover.tasks.serving.cpu.api import ChatApi
    from carryover.tasks.serving.cpu.cache import CachePool
    from carryover.tasks.serving.cpu.engine import ModelEngine
    from carryover.tasks.serving.cpu.models import load_models
    from carryover.tasks.serving.cpu.scheduler import Scheduler

    torch.set_num_threads(options.threads)
    models = load_models(options.models, template_path=options.template)
    pool = CachePool(options.cache_bytes)
    engines = [ModelEngine(model, pool, max_running=options.max_running) for model in models]
    limit = min(model.max_positions for model in models)
    max_tokens = min(options.max_tokens or limit, limit)
    api = ChatApi(models, Scheduler(engines), max_tokens=max_tokens, template_kwargs=options.template_kwargs)
    print(f"loaded {', '.join(model.name for model in models)}; context of {max_tokens} tokens", flush=True)
    uvicorn.run(
        api.build_app(),
        host=options.host,
        port=options.port,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )


def main() -> None:
    """Run the server; end with one line and status 1 for a model that cannot be served."""
    from carryover.tasks.serving.cpu.models import ModelLoadError

    options = parse_options(sys.argv[1:])
    # Caches are large and grow by copies; in small pages, their page faults take a third of a prompt's time.
    os.environ.setdefault(HUGE_PAGES_VARIABLE, "1")
    try:
        serve(options)
    except ModelLoadError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
