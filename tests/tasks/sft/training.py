"""Trainings of seconds on a CPU, for several modules of tests."""

from carryover.tasks.datasets.conversations import Conversation, TrainingMessage, write_conversations
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.train import TrainingJob, train
from carryover.tasks.sft.training_spec import TRAINING, BatchSpec, LoraSpec, TokenizerSpec
from tests.flattening import flat

SMOKE = TRAINING["smoke"].model_copy(
    update={"tokenizer": TokenizerSpec(vocabulary_size=300), "max_steps": 6, "logging_steps": 2, "save_steps": 2}
)
ADAPTER = TRAINING["smoke_common"].model_copy(
    update={"lora": LoraSpec(rank=4, alpha=8, dropout=0.1), "max_steps": 4, "logging_steps": 2, "save_steps": 2}
)
PACKED = ADAPTER.model_copy(update={"batch": BatchSpec(max_length=256, packing=True, accumulation=2)})


def run_training(spec, world, output, *, seed=0, contract="persistent", on_log=None, base_model=None, **arguments):
    base = None if base_model is None else str(base_model)
    return train(
        TrainingJob(
            spec=spec, dataset=world / "data.jsonl", output=output, contract=contract, seed=seed, base_model=base,
            **arguments,
        ),
        on_log,
    )  # fmt: skip


def small_paper(base):
    paper = TRAINING["paper"]
    changes = {
        "base_model": str(base), "max_steps": 1, "logging_steps": 1,
        "batch": paper.batch.model_copy(update={"max_length": 512, "accumulation": 2}),
        "optimizer": paper.optimizer.model_copy(update={"warmup_ratio": 0.0}),  # the first step of a warm-up has rate 0
    }  # fmt: skip
    return paper.model_copy(update=changes)


def message_texts(conversations):
    return [message.content for message in flat(each.messages for each in conversations)]


def save_taking_conversations(count, folder, tokenizer):
    """Write conversations of one to four calls as `data.jsonl`, and a tokenizer of their texts."""
    conversations = [
        Conversation(
            messages=(
                TrainingMessage(role="user", content=f"Take item {number}."),
                TrainingMessage(role="assistant", content=f"take({number})\n" * (1 + number % 4)),
            )
        )
        for number in range(count)
    ]
    write_conversations(folder / "data.jsonl", conversations)
    build_tokenizer(message_texts(conversations), tokenizer, folder / "tokenizer")


def conversation_on(number):
    name = f"item_{number}"
    return Conversation(
        messages=(
            TrainingMessage(role="system", content="Names persist."),
            TrainingMessage(role="user", content=f"Take {name}."),
            TrainingMessage(role="assistant", content=f"I take it.\n```python\ntake('{name}')\n```" * (1 + number % 3)),
            TrainingMessage(role="user", content='{"output": "ok"}'),
            TrainingMessage(role="assistant", content="```python\nfinish()\n```"),
        )
    )
