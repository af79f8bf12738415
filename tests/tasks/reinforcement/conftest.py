"""The model that reinforcements of tests start from."""

from datetime import UTC, datetime

import pytest

from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.card import ModelCard, write_card
from carryover.tasks.sft.folder import digest_of_tensors
from carryover.tasks.sft.load import new_model, save_model, with_template
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.training_spec import TRAINING

SMOKE = TRAINING["smoke"]


@pytest.fixture(scope="package")
def start(tmp_path_factory):
    """The folder of a random model with the tokenizer of an episode, as a training leaves it."""
    folder = tmp_path_factory.mktemp("start")
    environment = BlockEnvironment("knapsack", "stateless")
    texts = [message["content"] for seed in range(8) for message in environment.opening(seed)]
    environment.close()
    assert SMOKE.tokenizer is not None
    assert SMOKE.architecture is not None
    build_tokenizer(texts, SMOKE.tokenizer, folder)
    tokenizer = with_template(SMOKE, load_tokenizer(folder))
    save_model(new_model(SMOKE.architecture, tokenizer, 0), folder)
    tokenizer.save_pretrained(folder)
    card = ModelCard(
        contract="persistent", kind="checkpoint", base_model="untrained", spec=SMOKE, seed=0, plan_digest=None,
        dataset_digest="d", example_count=1, model_digest=digest_of_tensors(folder), parameter_count=1,
        trained_parameter_count=1, token_count=1, step_count=1, final_loss=1.0, validation_loss=None, device="cpu",
        attention="sdpa", wall_seconds=1.0, started_at=datetime.now(UTC), metrics=(),
    )  # fmt: skip
    write_card(folder, card)
    return folder
