"""The study's cross-evaluation as a load: vLLM at Qwen3-8B's shape on a GPU, our own server at a small one on a CPU.

    pytest -m gpu -s tests/benchmarks/serving        # for whoever has one: sh deployments/install_vllm.sh before
    pytest -m gpu -s tests/benchmarks/serving -k 32  # the largest load alone; every load starts a server of its own

Both run the same code; only shape, engine and counts differ. Random weights say nothing about a study's numbers, but
they take the memory and the time of trained ones; no model is needed from anywhere.
"""

import pytest

from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.plans.study_plan import InstanceSetSpec
from carryover.tasks.serving.serving_spec import ServingSpec
from carryover.tasks.sft.model_shape import KNOWN_SHAPES, ModelShape
from carryover.tasks.sft.resources import CORE_FLOPS, GIB
from carryover.tasks.sft.training_spec import LoraSpec
from tests.benchmarks.gpu import peak_flops, watched_memory
from tests.benchmarks.serving.study_load import CELLS, cross_evaluate, plan_load, save_adapter, save_base

CONTRACTS = ("persistent", "stateless")
SMALL = ModelShape(64, 2, 4, 2, 16, 128, 400, 8192, is_tied=True)


def save_models(folder, shape, *, has_weights):
    """A base and a rank-64 adapter per contract."""
    base = save_base(folder / "base", shape, has_weights=has_weights)
    return base, {name: save_adapter(folder / name, base, shape, LoraSpec(), name) for name in CONTRACTS}


@pytest.mark.gpu
@pytest.mark.benchmark
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("concurrency", [1, 4, 32])
def test_vllm_under_a_cross_evaluation_of_qwen3_8b(tmp_path, monkeypatch, concurrency):
    import torch

    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    device, shape = torch.cuda.get_device_name(), KNOWN_SHAPES["Qwen/Qwen3-8B"]
    base, adapters = save_models(tmp_path, shape, has_weights=False)
    episode = EpisodeSpec(max_turns=4, max_completion_tokens=256)
    serving = ServingSpec(engine="vllm", load_format="dummy", max_concurrent=concurrency)
    # as many episodes per cell as are asked for at a time, and enough of them for a mean
    count = max(2, concurrency)
    instances = InstanceSetSpec(bucket="easy", split="evaluation", count=count, first_seed=0)
    with watched_memory() as memory:
        speed, episodes = cross_evaluate(plan_load(base, serving, instances, episode), adapters)
    print(f"\n{device}, {speed.line(shape.parameter_count, peak_flops(device))}, peak {memory.peak:.1f} GiB")
    assert_every_cell_was_played(speed, episodes, count)
    assert memory.peak * GIB > 2 * shape.parameter_count  # bfloat16 weights were there


def assert_every_cell_was_played(speed, episodes, count):
    assert speed.episode_count == episodes.height == CELLS * count
    cells = episodes.group_by("train_contract", "runtime_contract").len()
    assert cells["len"].to_list() == [count] * CELLS
    assert set(episodes["model_name"]) == {"base", "persistent-3407", "stateless-3407"}
    assert set(episodes["finish_reason"]) <= {"max_turns", "finish_tool"}
    assert speed.processed_tokens > speed.completion_tokens == episodes["completion_tokens"].sum()
    assert (episodes["completion_tokens"] > 0).all()


@pytest.mark.prefect
@pytest.mark.timeout(900)
def test_the_same_load_on_our_own_server(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    base, adapters = save_models(tmp_path, SMALL, has_weights=True)
    serving = ServingSpec(engine="cpu", context_tokens=8192, max_concurrent=4)
    instances = InstanceSetSpec(bucket="small", split="evaluation", count=2, first_seed=0)
    episode = EpisodeSpec(prompt_set="compact", max_turns=2, max_completion_tokens=8)
    speed, episodes = cross_evaluate(plan_load(base, serving, instances, episode), adapters)
    with capsys.disabled():
        print(f"\n{speed.line(SMALL.parameter_count, CORE_FLOPS)}")
    assert_every_cell_was_played(speed, episodes, count=2)
    (log,) = (tmp_path / "data" / "logs").glob("serving-*.log")
    assert "was trained on the stateless contract, the runtime is persistent" in log.read_text()
