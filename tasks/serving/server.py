"""An endpoint for a study's models: our own server or another."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from carryover.tasks.agent.credentials import place_of_key, read_key
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import fetch_tokenizer, load_tokenizer
from carryover.tasks.serving.ask import NoAnswer, ask
from carryover.tasks.serving.commands import adapters_template, own_command, vllm_command, vllm_environment
from carryover.tasks.serving.process import ManagedProcess, ServerError, start_on_free_port
from carryover.tasks.serving.serving_spec import ServedModels, ServingSpec

HOST = "127.0.0.1"
"""Servers that we start listen here only."""
LISTING_SECONDS = 30.0
"""Timeout of an endpoint for listing its models or reporting its version."""
_HOW_TO_ADDRESS = (
    "give the address of an OpenAI-compatible API, version included, e.g. --endpoint-url http://HOST:8000/v1"
)
_HOW_TO_SERVE = (
    "serve each under its name (`carryover serve BASE --name base --adapter NAME=FOLDER`), or leave --endpoint-url out"
)


class RunningServer(NamedTuple):
    """An endpoint that answers."""

    base_url: str
    """Address up to and including the version."""
    model_names: tuple[str, ...]
    """Models that it lists."""
    command: tuple[str, ...]
    """Command line of a server that we started; empty for an external one."""
    log_path: Path | None
    version: str | None = None
    """Version that it reports; None if it reports none."""


@contextmanager
def open_server(
    spec: ServingSpec, models: ServedModels, log_path: Path, *, tell: Callable[[str], None] = lambda _: None
) -> Iterator[RunningServer]:
    """Run the spec's server during the block, once it answers.

    While it starts, `tell` is told the last line of its log.
    An `external` endpoint is neither started nor stopped, and may serve more than the models. A server that does not
    become ready in time or lacks one of the models is a `ServerError`; one that dies before the end of the block is a
    `DeadServerError`, whatever the block raised for that.
    """
    if spec.url is not None:
        names = _check_models(spec.url, models, spec.api_key_variable)
        yield RunningServer(spec.url, names, (), None, _ask_version(spec.url))
        return
    process, port = start_on_free_port(
        lambda port: ManagedProcess(
            server_command(spec, models, host=HOST, port=port, make_folder=lambda: log_path.parent),
            log_path,
            health_url=f"http://{HOST}:{port}/health",
            environment=vllm_environment(spec, os.environ) if spec.engine == "vllm" else None,
        ),
        spec.startup_timeout_seconds,
        tell,
    )
    with process:
        base_url = f"http://{HOST}:{port}/v1"
        try:
            names = _check_models(base_url, models)
            yield RunningServer(base_url, names, process.command, log_path, _ask_version(base_url))
        except UserError:
            process.check_survived()
            raise
        process.check_survived()  # what was asked of a server that died meanwhile has failed, and its log tells why


def server_command(
    spec: ServingSpec, models: ServedModels, *, host: str, port: int, make_folder: Callable[[], Path]
) -> list[str]:
    """Return the server's command line; raise `ServerError` without vLLM.

    `make_folder` is asked for a folder only where vLLM's command names a chat template that has to be written first.
    """
    if spec.engine != "vllm":
        return own_command(spec, models, host=host, port=port)
    program = vllm_program()
    if program is None:
        raise ServerError("vllm is not installed; run `sh deployments/install_vllm.sh`, or put yours on the PATH")
    base_template = None
    template_folder = None
    if adapters_template(models) is not None:
        base = fetch_tokenizer(models.base, models.base_revision) if models.base_revision else models.base
        template = load_tokenizer(base).chat_template
        # a tokenizer may have several, by name
        if isinstance(template, str):
            base_template = template
            template_folder = make_folder()
    command = vllm_command(
        spec, models, host=host, port=port, base_template=base_template, template_folder=template_folder
    )
    return [program, *command[1:]]


def vllm_program() -> str | None:
    """Return vLLM's program, beside our Python or on PATH, or None."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return shutil.which("vllm", path=places)


def _ask_version(base_url: str) -> str | None:
    """Return a server's version as vLLM reports it, without a key."""
    answer = ask(base_url.rstrip("/").removesuffix("/v1") + "/version", timeout_seconds=LISTING_SECONDS)
    if isinstance(answer, NoAnswer) or answer.status != HTTPStatus.OK:
        return None
    try:
        version = json.loads(answer.body)["version"]
    except (ValueError, LookupError, TypeError):
        return None
    # an external endpoint may send anything
    if isinstance(version, str):
        return version[:100]
    return None


def _check_models(base_url: str, models: ServedModels, api_key_variable: str | None = None) -> tuple[str, ...]:
    key = read_key(api_key_variable)
    secret = None if key is None else key.get_secret_value()
    answer = ask(f"{base_url.rstrip('/')}/models", secret, timeout_seconds=LISTING_SECONDS)
    if isinstance(answer, NoAnswer):
        raise ServerError(f"{base_url}/models does not answer ({answer.reason}); start again when it does")
    if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise ServerError(f"{base_url}/models answers HTTP {answer.status}; {_way_to_key(api_key_variable)}")
    if answer.status != HTTPStatus.OK:
        raise ServerError(f"{base_url}/models does not list models: it answers HTTP {answer.status}; {_HOW_TO_ADDRESS}")
    try:
        listed = tuple(str(model["id"]) for model in json.loads(answer.body)["data"])
    except (ValueError, KeyError, TypeError) as error:
        raise ServerError(f"{base_url}/models does not list models: malformed response; {_HOW_TO_ADDRESS}") from error
    if missing := [name for name in models.names if name not in listed]:
        raise ServerError(f"{base_url} serves {', '.join(listed)}, but not {', '.join(missing)}; {_HOW_TO_SERVE}")
    return listed


def _way_to_key(api_key_variable: str | None) -> str:
    if api_key_variable is None:
        return "name its key with --endpoint-key-variable"
    return f"check the key in {place_of_key(api_key_variable)}"
