"""The model that reinforcements of tests start from."""

import pytest

from carryover.tasks.environment.block_environment import BlockEnvironment
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.card import write_card
from carryover.tasks.sft.folder import digest_of_tensors
from carryover.tasks.sft.load import new_model, save_model, with_template
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.training_spec import TRAINING
from tests.flattening import flat
from tests.tasks.cards import make_card

SMOKE = TRAINING["smoke"]


@pytest.fixture(scope="package")
def start(tmp_path_factory):
    """The folder of a random model with the tokenizer of an episode, as a training leaves it."""
    folder = tmp_path_factory.mktemp("start")
    environment = BlockEnvironment("knapsack", "stateless")
    texts = [message["content"] for message in flat(environment.opening(seed) for seed in range(8))]
    environment.close()
    assert SMOKE.tokenizer is not None
    assert SMOKE.architecture is not None
    build_tokenizer(texts, SMOKE.tokenizer, folder)
    tokenizer = with_template(SMOKE, load_tokenizer(folder))
    save_model(new_model(SMOKE.architecture, tokenizer, 0), folder)
    tokenizer.save_pretrained(folder)
    write_card(folder, make_card(model_digest=digest_of_tensors(folder)))
    return folder
