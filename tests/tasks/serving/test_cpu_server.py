import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn

from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.cpu import api, cache, model_engine, scheduler
from carryover.tasks.serving.cpu import models as loading
from carryover.tasks.serving.cpu_server import (
    GPU_BLOCKS_VARIABLE,
    HUGE_PAGES_VARIABLE,
    cache_bytes,
    main,
    parse_options,
    serve,
)
from carryover.tasks.serving.serving_spec import ServedModels

GIB = 1024**3


def run_without_model(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["cpu_server", "--model", "/nowhere/model"])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_a_model_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setenv(HUGE_PAGES_VARIABLE, "1")
    assert run_without_model(monkeypatch) == (
        "error: model '/nowhere/model': /nowhere/model is not a directory; "
        "give the one that training saved, or a hub name"
    )


@pytest.fixture
def served(torch, monkeypatch):
    """What a server was built of and run with; its two models have 512 and 256 positions."""
    calls = []
    models = [SimpleNamespace(name=name, max_positions=count) for name, count in (("a", 512), ("b", 256))]

    def note(name, result=None):
        def call(*given, **options):
            calls.append((name, given, options))
            return result

        return call

    monkeypatch.setattr(torch, "set_num_threads", note("threads"))
    monkeypatch.setattr(loading, "load_models", note("models", models))
    monkeypatch.setattr(cache, "CachePool", note("pool", "pool"))
    monkeypatch.setattr(model_engine, "ModelEngine", note("engine", "engine"))
    monkeypatch.setattr(scheduler, "Scheduler", note("scheduler", "scheduler"))
    monkeypatch.setattr(api, "ChatApi", note("api", SimpleNamespace(build_app=lambda: "app")))
    monkeypatch.setattr(uvicorn, "run", note("run"))
    return calls, models


def test_models_are_loaded_and_served_as_the_flags_say(served, capsys):
    flags = (
        "--model hub/m --revision r --served-model-name own --lora-modules x=/x --checkpoints y=/y --host h --port 1 "
        '--max-num-seqs 5 --kv-cache-memory-bytes 77 --chat-template t --default-chat-template-kwargs {"k":1} '
        "--threads 3"
    )
    calls, models = served
    serve(parse_options(flags.split()))
    wanted = ServedModels(
        base="hub/m", base_revision="r", base_name="own", adapters={"x": Path("/x")}, checkpoints={"y": Path("/y")}
    )
    assert calls == [
        ("threads", (3,), {}),
        ("models", (wanted,), {"template_path": Path("t"), "device": "cpu"}),
        ("pool", (77,), {}),
        *(("engine", (model, "pool"), {"max_running": 5}) for model in models),
        ("scheduler", (["engine", "engine"],), {}),
        ("api", (models, "scheduler"), {"max_tokens": 256, "template_kwargs": {"k": 1}}),
        ("run", ("app",), {
            "host": "h", "port": 1, "access_log": False, "log_level": "warning", "timeout_graceful_shutdown": 2,
        }),
    ]  # fmt: skip
    assert capsys.readouterr().out == "loaded a, b; context of 256 tokens\n"


@pytest.mark.parametrize(("asked", "context"), [(100, 100), (400, 256)])
def test_a_context_is_no_longer_than_the_models_take(served, asked, context):
    calls, _ = served
    serve(parse_options(["--model", "m", "--max-model-len", str(asked)]))
    (wanted,) = (given[0] for name, given, _ in calls if name == "models")
    assert wanted == ServedModels(base="m", base_name="m")
    assert [options["max_tokens"] for name, _, options in calls if name == "api"] == [context]


def test_a_gpu_that_is_not_there_is_one_line(torch, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["cpu_server", "--model", str(tmp_path), "--device", "cuda"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="torch finds no GPU here; serve with --engine cpu"):
        main()


@pytest.mark.parametrize(("free_gib", "gpu_gib", "cache_gib"), [(79, 80, 69), (23, 24, 15.8), (50, 80, 44)])
def test_conversations_take_what_a_gpu_has_beside_weights_and_copies(torch, monkeypatch, free_gib, gpu_gib, cache_gib):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (free_gib * GIB, gpu_gib * GIB))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: GIB)
    options = parse_options(["--model", "m", "--device", "cuda"])
    assert cache_bytes(options) / GIB == pytest.approx(cache_gib)


def test_a_gpu_too_small_for_the_weights_is_one_line(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (4 * GIB, 8 * GIB))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 4 * GIB)
    options = parse_options(["--model", "m", "--device", "cuda", "--gpu-memory-utilization", "0.9"])
    with pytest.raises(UserError, match=r"0\.9 of this GPU's 8 GiB, 4 GiB of them free, holds the weights"):
        cache_bytes(options)


def test_a_cpu_keeps_conversations_in_the_bytes_that_it_is_given():
    assert cache_bytes(parse_options(["--model", "m", "--kv-cache-memory-bytes", "77"])) == 77


@pytest.mark.parametrize(
    ("variable", "value"), [(HUGE_PAGES_VARIABLE, "1"), (GPU_BLOCKS_VARIABLE, "expandable_segments:True")]
)
def test_torch_takes_memory_for_growing_caches_unless_the_environment_says_otherwise(monkeypatch, variable, value):
    monkeypatch.setenv(variable, "own")
    run_without_model(monkeypatch)
    assert os.environ[variable] == "own"
    monkeypatch.delenv(variable)
    run_without_model(monkeypatch)
    assert os.environ[variable] == value
