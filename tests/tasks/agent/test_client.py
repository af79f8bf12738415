"""Which client a spec stands for, and that it is closed when it is not used any more."""

import asyncio

import openai
import pytest

from carryover.tasks.agent.client import EndpointClientSpec, open_client
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.agent.openai_client import OpenAIClient
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.traces.vocabulary import ContractName

SPEC = EndpointClientSpec(endpoint=EndpointSpec(base_url="http://127.0.0.1:9/v1"))
TEACHER = Condition(
    purpose="teacher", model_name="large", runtime_contract=ContractName.PERSISTENT, bucket="easy", split="train"
)


@pytest.mark.parametrize("ending", [None, RuntimeError("stopped")])
def test_endpoint_connections_are_closed_on_every_exit(ending, monkeypatch):
    closed = []
    close = openai.AsyncOpenAI.close

    async def noting(connections):
        closed.append(connections)
        await close(connections)

    monkeypatch.setattr(openai.AsyncOpenAI, "close", noting)

    async def use():
        async with open_client(SPEC, TEACHER, KNAPSACK_FAMILY) as client:
            assert isinstance(client, OpenAIClient)
            assert not closed
            if ending is not None:
                raise ending

    if ending is None:
        asyncio.run(use())
    else:
        with pytest.raises(RuntimeError, match="stopped"):
            asyncio.run(use())
    assert [connections.is_closed() for connections in closed] == [True]
