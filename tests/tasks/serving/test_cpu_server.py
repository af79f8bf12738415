import os
import sys

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.cpu_server import (
    GPU_BLOCKS_VARIABLE,
    HUGE_PAGES_VARIABLE,
    cache_bytes,
    main,
    parse_options,
)

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
