"""The exact wire is what the client sent: an episode that was played, beside the training text of its records."""

import pytest

from carryover.storage.zone.schemas import to_arrow
from carryover.tasks.agent.faults import FaultSpec
from carryover.tasks.datasets.extraction import extract_conversations
from tests.tasks.agent.playing import Model, block, play

REPLIES = (
    "I think first, without a block.",
    block("known = list_items()\nprint('é', known)"),
    f"{block('print(known)')}\n\nand at once\n{block('never_run()')}",
    block("1 / 0"),
    block("finish()"),
)


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"faults": FaultSpec(rate=1.0, storm_share=0.0, maximum=1)}, {"prompt_set": "compact"}],
    ids=["plain", "faults", "compact"],
)
def test_training_text_is_the_last_request_and_its_reply(runtime, contract, settings):
    model = Model(*REPLIES)

    recorded = play(runtime, model, contract, **settings)

    extraction = extract_conversations(
        to_arrow(recorded.turns), to_arrow(recorded.steps), [recorded.episode.episode_id], "exact_wire"
    )[recorded.episode.episode_id]
    *sent, reply = [(message.role, message.content) for message in extraction.messages]
    assert sent == [(message.role, message.content) for message in model.requests[-1].messages]
    assert reply == ("assistant", REPLIES[-1])
    assert len(model.requests) == len(REPLIES)
