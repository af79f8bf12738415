"""TRL's trainer takes the environment, in both of its interfaces."""

from functools import partial

import pytest

from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.environment.for_trl import (
    TrlEnvironment,
    environment_factory,
    environment_reward,
    rollout_func,
    training_rows,
)
from tests.tiny_bases import save_tiny_base

OPEN = partial(BlockEnvironment, "knapsack", "stateless", max_turns=2)


def test_rows_carry_seed_and_contract():
    rows = training_rows(OPEN, [3, 4], has_goal=True)
    assert [(row["seed"], row["contract"]) for row in rows] == [(3, "stateless"), (4, "stateless")]
    assert rows[0]["prompt"][-1]["content"].startswith("Opaque knapsack")
    assert training_rows(OPEN, [3], has_goal=False)[0]["prompt"][-1]["content"] == ""


def test_a_tool_call_is_a_block(runtime):
    environment = TrlEnvironment(OPEN(runtime=runtime))
    assert environment.reset(seed=3, contract="stateless").startswith("Opaque knapsack")
    assert '"output": "7"' in environment.run_block("print(7)")
    assert environment.get_reward() == 0.0


def train(folder, rows, steps=1, **interface):
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    config = GRPOConfig(
        output_dir=str(folder / "trained"),
        max_steps=steps,
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=64,
        use_cpu=True,
        report_to=[],
        logging_steps=1,
        save_strategy="no",
    )
    base = str(save_tiny_base(folder / "base", "qwen3"))
    trainer = GRPOTrainer(model=base, args=config, train_dataset=Dataset.from_list(rows), **interface)
    trainer.train()
    return trainer.state.log_history


@pytest.mark.slow
def test_grpo_trains_on_fenced_blocks(tmp_path):
    rows = training_rows(OPEN, range(2), has_goal=True)
    logged = train(
        tmp_path, rows, reward_funcs=environment_reward, rollout_func=rollout_func(OPEN, rows, max_new_tokens=16)
    )
    assert logged[0]["rewards/environment_reward/mean"] == 0.0


@pytest.mark.slow
def test_trl_takes_the_environment_s_one_tool(tmp_path):
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    rows = training_rows(OPEN, range(2), has_goal=False)
    config = GRPOConfig(output_dir=str(tmp_path / "out"), use_cpu=True, report_to=[], num_generations=2,
                        per_device_train_batch_size=2)  # fmt: skip
    trainer = GRPOTrainer(
        model=str(save_tiny_base(tmp_path / "base", "qwen3")),
        args=config,
        train_dataset=Dataset.from_list(rows),
        environment_factory=environment_factory(OPEN),
    )
    assert [tool.__name__ for tool in trainer.tools] == ["run_block"]
    assert trainer.reward_func_names == ["TrlEnvironment"]
