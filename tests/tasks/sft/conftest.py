"""Data, a tokenizer and an untrained base for trainings of seconds."""

import pytest

from carryover.tasks.datasets.conversations import write_conversations
from carryover.tasks.sft.load import save_untrained
from carryover.tasks.sft.tokenizer import build_tokenizer
from tests.tasks.sft.training import SMOKE, conversation_on, message_texts


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A folder with training data and a tokenizer."""
    root = tmp_path_factory.mktemp("training")
    conversations = [conversation_on(number) for number in range(60)]
    write_conversations(root / "data.jsonl", conversations)
    assert SMOKE.tokenizer is not None
    build_tokenizer(message_texts(conversations), SMOKE.tokenizer, root / "tokenizer")
    return root


@pytest.fixture(scope="session")
def base(world):
    """A base of our own, untrained."""
    assert SMOKE.architecture is not None
    return save_untrained(SMOKE.architecture, world / "tokenizer", world / "base", seed=1)
