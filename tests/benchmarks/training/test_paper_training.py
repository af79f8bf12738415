"""The paper's training on a GPU: the true Qwen3-8B configuration with random weights, NF4, LoRA 64, 16k packing.

The same code trains a small shape on a CPU, so that nothing of it runs for the first time on a GPU.
"""

import random
from pathlib import Path
from typing import NamedTuple

import pytest

from carryover.tasks.datasets.conversations import Conversation, TrainingMessage, write_conversations
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.load import load_start_model, load_start_tokenizer
from carryover.tasks.sft.model_shape import KNOWN_SHAPES, ModelShape
from carryover.tasks.sft.prepare import prepare_data
from carryover.tasks.sft.resources import CORE_FLOPS, GIB, GPU_GIB, estimate_resources
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.train import TrainedModel, TrainingJob, train
from carryover.tasks.sft.trainer import open_trainer
from carryover.tasks.sft.training_log import log_callback, read_log
from carryover.tasks.sft.training_spec import TRAINING, BatchSpec, LoraSpec, TokenizerSpec
from tests.benchmarks.gpu import QWEN3_ROPE, peak_flops, utilisation_in_words
from tests.flattening import flat

SMALL = ModelShape(64, 2, 4, 2, 16, 128, 400, 8192, is_tied=True)
WORDS = ["the", "budget", "leaves", "room", "for", "more", "items", "so", "inspect", "another", "part", "of", "it"]


class Load(NamedTuple):
    """What is trained on, as a number of steps."""

    shape: ModelShape
    batch: BatchSpec
    steps: int
    conversation_count: int
    exchange_count: int
    """Pairs of question and reply in a conversation."""


PAPER = Load(KNOWN_SHAPES["Qwen/Qwen3-8B"], TRAINING["paper"].batch, 4, 320, 6)
"""Conversations of some 4,600 tokens, as the persistent traces of Table 5: four optimizer steps of 262k tokens."""
ON_A_CPU = Load(SMALL, BatchSpec(max_length=1024, accumulation=2), 8, 8, 1)
"""Eight optimizer steps of 2k tokens."""


def _conversations(load: Load) -> list[Conversation]:
    draw = random.Random(0)

    def text(words: int) -> str:
        return " ".join(draw.choices(WORDS, k=words))

    def exchange() -> list[TrainingMessage]:
        return [TrainingMessage(role="user", content=text(350)), TrainingMessage(role="assistant", content=text(400))]

    def conversation() -> Conversation:
        return Conversation(messages=tuple(flat(exchange() for _ in range(load.exchange_count))))

    return [conversation() for _ in range(load.conversation_count)]


def _random_base(shape: ModelShape, tokenizer_path: Path, folder: Path) -> None:
    """Save random weights of a shape in bfloat16: 16 GB at Qwen3-8B's."""
    import torch
    from transformers import Qwen3ForCausalLM

    config = shape.configuration(dtype="bfloat16", rope_parameters=QWEN3_ROPE)
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.random.fork_rng(), torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            torch.manual_seed(0)
            model = Qwen3ForCausalLM(config)
    finally:
        torch.set_default_dtype(torch.float32)
    model.save_pretrained(folder)
    load_tokenizer(tokenizer_path).save_pretrained(folder)
    del model
    torch.cuda.empty_cache()


def _train_adapter(load: Load, folder: Path) -> TrainedModel:
    """Train the paper's adapter on a random base and return it; its metrics tell every step."""
    conversations = _conversations(load)
    write_conversations(folder / "data.jsonl", conversations)
    texts = [message.content for message in conversations[0].messages]
    build_tokenizer(texts, TokenizerSpec(vocabulary_size=400), folder / "tokenizer")
    _random_base(load.shape, folder / "tokenizer", folder / "base")
    changes = {
        "base_model": str(folder / "base"), "batch": load.batch, "max_steps": load.steps, "logging_steps": 1,
        "save_steps": 100, "validation_share": 0.0,
    }  # fmt: skip
    spec = TRAINING["paper"].model_copy(update=changes)
    job = {"dataset": folder / "data.jsonl", "output": folder / "adapter", "contract": "persistent", "seed": 0}
    return train(TrainingJob(spec=spec, **job))


def _line(adapter: TrainedModel, peak: float | None) -> str:
    """Return the speed of a training in words; its first step warms up."""
    first, last = adapter.metrics[0], adapter.metrics[-1]
    rate = (last.token_count - first.token_count) / (last.wall_seconds - first.wall_seconds)
    base_parameters = adapter.parameter_count - adapter.trained_parameter_count
    # forward, and backward to the activations: 2 operations each per parameter of the base; what is recomputed to save
    # memory is no work of the model's
    utilisation = utilisation_in_words(4 * base_parameters * rate, peak)
    return (
        f"{adapter.device}, {adapter.attention}: {rate:,.0f} tokens/s, {utilisation}, loss {first.loss:.2f} to "
        f"{last.loss:.2f}, {last.wall_seconds:.0f} s without loading"
    )


def _assert_trained(load: Load, adapter: TrainedModel) -> None:
    first, last = adapter.metrics[0], adapter.metrics[-1]
    assert adapter.trained_parameter_count == load.shape.adapter_parameter_count(LoraSpec())
    assert adapter.parameter_count == load.shape.parameter_count + adapter.trained_parameter_count
    assert (first.optimizer_step, last.optimizer_step) == (1, load.steps)
    full = load.steps * load.batch.accumulation * load.batch.max_length
    assert 0.6 * full < last.token_count <= full  # well filled sequences
    assert last.loss < first.loss


@pytest.mark.slow
def test_a_small_shape_trains_on_cpu_by_the_same_code(tmp_path, capsys):
    adapter = _train_adapter(ON_A_CPU, tmp_path)
    with capsys.disabled():
        print(f"\n{_line(adapter, CORE_FLOPS)}")
    _assert_trained(ON_A_CPU, adapter)


@pytest.mark.benchmark
def test_adapters_in_float32_lose_no_more_than_in_bfloat16(tmp_path, keep_figure):
    import torch

    conversations = _conversations(ON_A_CPU)
    texts = [message.content for message in conversations[0].messages]
    tokenizer = build_tokenizer(texts, TokenizerSpec(vocabulary_size=400), tmp_path / "tokenizer")
    _random_base(ON_A_CPU.shape, tokenizer, tmp_path / "base")
    spec = TRAINING["paper"].model_copy(update={"batch": ON_A_CPU.batch, "max_steps": 30, "validation_share": 0.0})
    losses = {}
    for dtype in (torch.float32, torch.bfloat16):
        processing = load_start_tokenizer(spec, str(tmp_path / "base"))
        model = load_start_model(spec, str(tmp_path / "base"), processing, 0)
        data = prepare_data(conversations, processing, max_length=1024, validation_share=0.0, seed=0)
        folder = tmp_path / str(dtype)
        folder.mkdir()
        callback = log_callback(folder / "log.jsonl", None)
        trainer = open_trainer(spec, model, processing, data, checkpoints=folder, seed=0, callback=callback)
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.data = parameter.data.to(dtype)  # bfloat16 is what TRL leaves them in
        trainer.train()
        losses[dtype] = read_log(folder / "log.jsonl")[-1].loss
    print("\nfinal losses: " + ", ".join(f"{dtype} {loss:.4f}" for dtype, loss in losses.items()))
    ratio = losses[torch.float32] / losses[torch.bfloat16]
    keep_figure("final loss of adapters in float32 over bfloat16's", ratio, at_most=1.01)
    assert losses[torch.float32] <= losses[torch.bfloat16] + 0.01


@pytest.mark.gpu
@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_tokens_per_second_memory_and_utilisation(tmp_path):
    import torch

    torch.cuda.reset_peak_memory_stats()
    adapter = _train_adapter(PAPER, tmp_path)
    memory = torch.cuda.max_memory_allocated()
    _assert_trained(PAPER, adapter)
    assert adapter.trained_parameter_count == 174_587_904
    estimate = estimate_resources(TRAINING["paper"], PAPER.shape)
    peak = f"peak {memory / GIB:.1f} GiB, {estimate.memory_bytes / GIB:.1f} estimated"
    print(f"\n{_line(adapter, peak_flops(adapter.device))}, {peak}")
    assert estimate.weight_bytes < memory < GPU_GIB * GIB
