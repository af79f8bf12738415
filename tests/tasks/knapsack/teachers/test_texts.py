"""What teachers write, to the letter: models of kept results were trained on these texts."""

import functools
import hashlib
import json

import pytest

from carryover.tasks.agent.protocol import Message
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.density import write_density_reply
from carryover.tasks.knapsack.teachers.habits import VARIED, draw_habits
from carryover.tasks.knapsack.teachers.injected import injected_block
from carryover.tasks.knapsack.teachers.plain import write_plain_conversation
from carryover.tasks.knapsack.teachers.small import write_small_reply
from carryover.tasks.traces.vocabulary import PAPER_CONTRACTS, ContractName
from tests.presets import kept_presets
from tests.tasks.agent.playing import opening_messages
from tests.tasks.knapsack.teachers.playing import play_conversation

KEPT = kept_presets(__file__)
SEEDS = range(6)


def digest(messages):
    text = "\n".join(message.content for message in messages)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def teacher(bucket, seed, kept_blocks=None):
    """Return a writer with drawn habits, and the prompts that it answers."""
    habits = draw_habits(VARIED, str(seed))
    if not bucket.startswith("small"):
        return functools.partial(write_density_reply, habits=habits), "full"
    is_careful = bucket == "small_costly"
    write = functools.partial(write_small_reply, habits=habits, is_careful=is_careful, kept_blocks=kept_blocks)
    return write, "compact"


def varied(bucket, contract, kept_blocks=None):
    """Return the digests of episodes with drawn habits."""
    told = []
    for seed in SEEDS:
        write_reply, prompt_set = teacher(bucket, seed, kept_blocks)
        told.append(
            digest(play_conversation(write_reply, contract, sample_instance(KNAPSACK[bucket], seed), prompt_set)[0])
        )
    return told


def repairs(bucket, contract):
    """Return the digests of replies to a block that failed, after the first and after the second block."""
    told = []
    for seed in SEEDS:
        write_reply, prompt_set = teacher(bucket, seed)
        messages = list(opening_messages(prompt_set, sample_instance(KNAPSACK[bucket], seed), contract))
        for error in ("NameError: name 'items' is not defined", None, "ToolError: list_items is down"):
            reply = Message(role="assistant", content=write_reply(contract, messages, seed=seed))
            observed = {"observation": {"output": "", "error": error}}
            messages += [reply, Message(role="user", content=json.dumps(observed))]
        told.append(digest(messages))
    return told


def plain(contracts):
    drawn = [write_plain_conversation(sample_instance(KNAPSACK["small"], seed), contracts) for seed in range(40)]
    return [digest(messages) for messages in drawn]


def injected():
    return [
        injected_block(contract, count, is_taking=is_taking)
        for contract in ("injected", "injected+persistent")
        for count in (1, 3)
        for is_taking in (False, True)
    ]


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
@pytest.mark.parametrize("bucket", ["easy", "small", "small_large", "small_costly"])
def test_varied_teachers_write_what_they_always_wrote(bucket, contract):
    assert varied(bucket, contract) == KEPT["varied"][f"{bucket} {contract}"]


@pytest.mark.parametrize("kept_blocks", [0, 1, 3])
def test_a_teacher_of_short_lifetimes_writes_what_it_always_wrote(kept_blocks):
    assert varied("small", "persistent", kept_blocks) == KEPT["short"][str(kept_blocks)]


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
@pytest.mark.parametrize("bucket", ["small", "small_costly", "easy"])
def test_teachers_repair_as_they_always_did(bucket, contract):
    assert repairs(bucket, contract) == KEPT["repairs"][f"{bucket} {contract}"]


def test_plain_conversations_are_the_kept_ones():
    assert plain(PAPER_CONTRACTS) == KEPT["plain"]
    assert plain(tuple(ContractName)) == KEPT["plain of all contracts"]


def test_blocks_with_injected_names_are_the_kept_ones():
    assert injected() == KEPT["injected"]
