"""TRL's trainer takes the environment, in both of its interfaces."""

from functools import partial
from pathlib import Path

import pytest

from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.environment.for_trl import (
    environment_factory,
    environment_reward,
    rollout_func,
    training_rows,
)
from carryover.tasks.services.hub import load_tokenizer
from tests.tiny_bases import save_tiny_base

OPEN = partial(BlockEnvironment, "knapsack", "stateless", max_turns=2)


@pytest.mark.parametrize("has_goal", [True, False])
def test_rows_carry_prompt_seed_and_contract(runtime, has_goal):
    closed = []

    class Noted(BlockEnvironment):
        def close(self):
            closed.append(True)
            super().close()

    rows = training_rows(lambda: Noted("knapsack", "stateless", runtime=runtime), [3, 4], has_goal=has_goal)
    expected = []
    for seed in (3, 4):
        *system, goal = OPEN(runtime=runtime).opening(seed)
        assert (goal["role"], goal["content"].startswith("Opaque knapsack")) == ("user", True)
        prompt = [*system, goal if has_goal else {"role": "user", "content": ""}]
        expected.append({"prompt": prompt, "seed": seed, "contract": "stateless"})
    assert rows == expected
    assert closed == [True]


def test_a_tool_call_is_a_block(runtime):
    opened = []

    def open_environment():
        opened.append(OPEN(runtime=runtime))
        return opened[-1]

    environment = environment_factory(open_environment)()
    assert environment.reset(seed=3, contract="stateless").startswith("Opaque knapsack")
    assert '"output": "7"' in environment.run_block("print(7)")
    assert environment.get_reward() == 0.0
    assert environment.reset() == environment.reset(seed=0) != environment.reset(seed=1)
    assert not opened[0].is_over
    environment._close()
    assert (len(opened), opened[0].is_over) == (1, True)


def open_trainer(folder, rows, **interface):
    """Return a trainer of a tiny random model for one update, with a template that can call tools."""
    import trl
    from datasets import Dataset
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer

    base = save_tiny_base(folder / "base", "qwen3")
    tokenizer = load_tokenizer(base)
    templates = Path(trl.__file__).parent / "chat_templates"
    tokenizer.chat_template = (templates / "qwen3.jinja").read_text()
    config = GRPOConfig(
        output_dir=str(folder / "trained"),
        max_steps=1,
        per_device_train_batch_size=2,
        num_generations=2,
        max_completion_length=32,
        use_cpu=True,
        report_to=[],
        logging_steps=1,
        save_strategy="no",
    )
    data = Dataset.from_list(rows)
    return GRPOTrainer(model=str(base), args=config, train_dataset=data, processing_class=tokenizer, **interface)


@pytest.mark.slow
def test_grpo_trains_on_fenced_blocks(tmp_path):
    rows = training_rows(OPEN, range(2), has_goal=True)
    rollouts = rollout_func(OPEN, rows, max_new_tokens=16)
    trainer = open_trainer(tmp_path, rows, reward_funcs=environment_reward, rollout_func=rollouts)
    trainer.train()
    assert trainer.state.log_history[0]["rewards/environment_reward/mean"] == 0.0


@pytest.mark.slow
def test_grpo_trains_on_tool_calls(tmp_path):
    rows = training_rows(OPEN, range(2), has_goal=False)
    trainer = open_trainer(tmp_path, rows, environment_factory=environment_factory(OPEN))
    assert [tool.__name__ for tool in trainer.tools] == ["run_block"]
    trainer.train()
    assert trainer.state.log_history[0]["rewards/TrlEnvironment/mean"] == 0.0
