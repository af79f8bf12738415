"""`carryover serve`: a model server by itself, in the foreground."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import expanded, is_local
from carryover.tasks.serving.commands import vllm_environment
from carryover.tasks.serving.server import server_command
from carryover.tasks.serving.serving_spec import OwnEngine, ServedModels, ServingSpec
from carryover.tasks.sft.model_shape import known_positions


def start_server(
    model: str,
    adapters: Sequence[str],
    *,
    engine: OwnEngine,
    name: str,
    revision: str | None,
    host: str,
    port: int,
    context_tokens: int | None,
    max_concurrent: int,
    threads: int,
    gpu_memory_share: float,
) -> None:
    """Replace this process by a server.

    Raise `UserError` for a missing folder or a malformed adapter.
    """
    source = expanded(model)
    if is_local(source):
        source = str(_folder(source))
    models = ServedModels(base=source, base_revision=revision, base_name=name, adapters=read_adapters(adapters))
    spec = ServingSpec(
        engine=engine, max_concurrent=max_concurrent, cpu_threads=threads, gpu_memory_share=gpu_memory_share
    )
    context = context_tokens or known_positions(source, revision)
    if context is not None:
        spec = spec.model_copy(update={"context_tokens": context})
    command = server_command(spec, models, host=host, port=port, make_folder=_make_folder)
    environment = vllm_environment(spec, os.environ) if engine == "vllm" else dict(os.environ)
    print(f"serving {', '.join(models.names)} at http://{host}:{port}/v1", flush=True)
    os.execvpe(command[0], command, environment)


def _make_folder() -> Path:
    """Make a folder for the server, which takes the place of this process and reads it while it runs."""
    return Path(tempfile.mkdtemp(prefix="carryover-serve-"))


def read_adapters(named: Sequence[str]) -> dict[str, Path]:
    """Return adapters by name from words of the form NAME=FOLDER.

    Raise `UserError` for another word.
    """
    adapters = {}
    for word in named:
        name, _, folder = word.partition("=")
        if not (name and folder):
            raise UserError(f"adapter {word!r} is not of the form NAME=FOLDER")
        if name in adapters:
            raise UserError(f"two adapters are named {name!r}; name each apart")
        adapters[name] = _folder(expanded(folder))
    return adapters


def _folder(place: str) -> Path:
    folder = Path(place).absolute()
    if not folder.is_dir():
        raise UserError(f"{place} is not a folder; name one that a training or a download has saved")
    return folder
