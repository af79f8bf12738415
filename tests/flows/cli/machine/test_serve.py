"""`carryover serve` starts the engine by itself, for models of any architecture."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from carryover.flows.cli.machine import serve
from carryover.flows.cli.machine.serve import read_adapters, start_server
from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.commands import own_command
from carryover.tasks.serving.serving_spec import ServedModels, ServingSpec
from tests.tiny_bases import ARCHITECTURES, save_tiny_base

STARTUP_SECONDS = 200


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def save_adapter(folder, base):
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base)
    config = LoraConfig(r=2, target_modules="all-linear", init_lora_weights=False, task_type="CAUSAL_LM")
    get_peft_model(model, config).save_pretrained(str(folder))
    return folder


def ask(address, model, seed):
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "Look."}],
        "seed": seed,
        "max_tokens": 12,
        "temperature": 1.0,
    }
    answer = httpx.post(f"{address}/chat/completions", json=body, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_any_architecture_is_served_with_adapters_by_name(architecture, tmp_path):
    base = save_tiny_base(tmp_path / "base", architecture)
    adapter = save_adapter(tmp_path / "adapter", base)
    port = free_port()
    address = f"http://127.0.0.1:{port}/v1"
    command = [sys.executable, "-m", "carryover.flows.cli.start", "serve", str(base)]
    process = subprocess.Popen([*command, "--adapter", f"mine={adapter}", "--port", str(port)], text=True)
    try:
        deadline = time.monotonic() + STARTUP_SECONDS
        while not answers(f"{address}/models"):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
        listed = httpx.get(f"{address}/models").json()["data"]
        assert [(model["id"], model["max_model_len"]) for model in listed] == [("base", 6144), ("mine", 6144)]
        replies = [ask(address, name, seed) for name, seed in (("base", 1), ("base", 1), ("base", 2), ("mine", 1))]
        texts = [reply["choices"][0]["message"]["content"] for reply in replies]
        assert texts[0] == texts[1]
        assert len(set(texts)) == 3
        # the opening that the template adds, the question and the header, byte by byte but for control tokens
        assert replies[0]["usage"]["prompt_tokens"] == replies[3]["usage"]["prompt_tokens"] > 30
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def answers(address):
    try:
        return httpx.get(address).status_code == 200
    except httpx.TransportError:
        return False


def test_adapters_are_read_by_name(tmp_path):
    assert read_adapters([f"mine={tmp_path}"]) == {"mine": tmp_path}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mine"], "adapter 'mine' is not of the form NAME=FOLDER"),
        (["mine="], "adapter 'mine=' is not of the form NAME=FOLDER"),
        (["=/"], "adapter '=/' is not of the form NAME=FOLDER"),
        (["mine=/no/where"], "/no/where is not a folder"),
        (["mine=/", "mine=/"], "two adapters are named 'mine'"),
    ],
)
def test_malformed_adapters_are_named(words, said):
    with pytest.raises(UserError, match=said):
        read_adapters(words)


def test_a_missing_base_is_one_line():
    command = [sys.executable, "-m", "carryover.flows.cli.start", "serve", "/no/where"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[4])
    assert finished.returncode == 1
    assert finished.stderr == "carryover: /no/where is not a folder; name one that a training or a download has saved\n"


OPTIONS: dict[str, Any] = {
    "name": "mine", "revision": None, "host": "h", "port": 1, "max_concurrent": 3, "threads": 2,
    "gpu_memory_share": 0.5,
}  # fmt: skip


@pytest.mark.parametrize(
    ("context_tokens", "positions", "context"), [(512, 6144, 512), (None, 6144, 6144), (None, None, 40_960)]
)
def test_a_context_is_the_asked_one_or_the_models_positions(tmp_path, monkeypatch, context_tokens, positions, context):
    became = []
    monkeypatch.setattr(os, "execvpe", lambda *given: became.append(given))
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: pytest.fail("our own server needs no folder"))
    if positions is not None:
        (tmp_path / "config.json").write_text(f'{{"max_position_embeddings": {positions}}}')
    start_server(str(tmp_path), [f"a={tmp_path}"], engine="cpu", context_tokens=context_tokens, **OPTIONS)
    ((program, command, environment),) = became
    models = ServedModels(base=str(tmp_path), base_name="mine", adapters={"a": tmp_path})
    spec = ServingSpec(context_tokens=context, max_concurrent=3, cpu_threads=2, gpu_memory_share=0.5)
    assert command == own_command(spec, models, host="h", port=1)
    assert (program, environment) == (command[0], dict(os.environ))


def test_vllm_serves_a_base_of_the_hub_with_its_environment(tmp_path, monkeypatch, capsys):
    became = []
    monkeypatch.setattr(os, "execvpe", lambda *given: became.append(given))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(serve, "known_positions", lambda source, revision: {("hub/m", "b9"): 77}[source, revision])

    def command_of(spec, models, *, host, port, make_folder):
        assert list(tmp_path.iterdir()) == []
        made = make_folder()
        assert list(tmp_path.iterdir()) == [made]
        assert made.name.startswith("carryover-serve-")
        return ["vllm", models.base, str(models.base_revision), str(spec.context_tokens), f"{host}:{port}"]

    monkeypatch.setattr(serve, "server_command", command_of)
    given: dict[str, Any] = {**OPTIONS, "revision": "b9"}
    start_server("hub/m", [], engine="vllm", context_tokens=None, **given)
    environment = {**os.environ, "VLLM_BATCH_INVARIANT": "1", "DO_NOT_TRACK": "1"}
    assert became == [("vllm", ["vllm", "hub/m", "b9", "77", "h:1"], environment)]
    assert capsys.readouterr().out == "serving mine at http://h:1/v1\n"


STARTING = """
import sys
from carryover.flows.cli.machine.serve import start_server
program, engine, base, adapter = sys.argv[1:]
sys.executable = program
start_server(
    base, [f"a={adapter}"], engine=engine, name="mine", revision=None, host="127.0.0.2", port=8123,
    context_tokens=512, max_concurrent=3, threads=2, gpu_memory_share=0.5,
)
"""


@pytest.mark.parametrize(
    ("engine", "computes"), [("cpu", "--threads 2"), ("gpu", "--device cuda --gpu-memory-utilization 0.5")]
)
def test_the_server_takes_over_after_a_line_on_its_address(tmp_path, engine, computes):
    folders = [tmp_path / name for name in ("base", "adapter")]
    for folder in folders:
        folder.mkdir()
    program = tmp_path / "echo"
    program.write_text('#!/bin/sh\necho "$@" "[$VLLM_BATCH_INVARIANT]"\n')
    program.chmod(0o755)
    command = [sys.executable, "-c", STARTING, str(program), engine, *map(str, folders)]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    told, started = subprocess.check_output(command, text=True, env=buffered).splitlines()
    assert told == "serving mine, a at http://127.0.0.2:8123/v1"
    assert started.startswith(f"-m carryover.tasks.serving.cpu_server --model {folders[0]} ")
    for words in ("mine", "127.0.0.2", "8123", "512", "3", f"a={folders[1]}", computes):
        assert f" {words} " in f"{started} ", words
    assert started.endswith(" []"), "vLLM's variables are vLLM's alone"
