"""Which client a spec stands for, and that it is closed when it is not used any more."""

import asyncio
from types import SimpleNamespace
from typing import Any

import openai
import pytest

from carryover.tasks.agent.client import EndpointClientSpec, ScriptedClientSpec, open_client
from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.agent.openai_client import OpenAIClient
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.runtime.contract import named_contract
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


@pytest.mark.parametrize(("train_contract", "played"), [(None, "persistent"), ("stateless", "stateless")])
def test_a_script_is_opened_for_the_contract_that_it_is_written_for(train_contract, played):
    asked = []
    family: Any = SimpleNamespace(open_teacher=lambda *given, **named: asked.append((given, named)) or "teacher")
    spec = ScriptedClientSpec(prints_table=False, habits={"loop": ("for",)})
    condition = TEACHER.model_copy(update={"train_contract": train_contract})

    async def opened():
        async with open_client(spec, condition, family, len) as client:
            return client

    assert asyncio.run(opened()) == "teacher"
    named = {"prints_table": False, "habits": {"loop": ("for",)}}
    assert asked == [(("easy", named_contract(played), len), named)]


def test_an_endpoints_replies_are_kept_in_its_folder(tmp_path):
    async def opened(spec):
        async with open_client(spec, TEACHER, KNAPSACK_FAMILY) as client:
            assert isinstance(client, OpenAIClient)
            return client

    plain = asyncio.run(opened(SPEC))
    assert (plain.model_name, plain._cache, plain._endpoint) == ("large", None, SPEC.endpoint)
    kept = asyncio.run(opened(SPEC.model_copy(update={"cache": tmp_path, "asks_anew": True})))
    assert kept._cache is not None
    assert (kept._cache._folder, kept._cache._asks_anew) == (tmp_path, True)


@pytest.mark.parametrize(
    ("changes", "is_base"),
    [
        ({"purpose": "teacher"}, False),
        ({"purpose": "evaluation", "train_contract": "stateless"}, False),
        ({"purpose": "evaluation", "train_contract": None}, True),
        ({"purpose": "teacher", "train_contract": "stateless"}, False),
    ],
)
def test_only_an_untrained_base_is_asked_as_one(changes, is_base):
    async def asked():
        async with open_client(SPEC, TEACHER.model_copy(update=changes), KNAPSACK_FAMILY) as client:
            assert isinstance(client, OpenAIClient)
            return client._endpoint.extra_body["chat_template_kwargs"]

    assert asyncio.run(asked()) == {"enable_thinking": False} | ({"is_base": True} if is_base else {})


def test_an_endpoints_requests_share_their_slots():
    other = SPEC.model_copy(update={"endpoint": SPEC.endpoint.model_copy(update={"concurrency": 9})})
    assert SPEC.slots() is SPEC.model_copy().slots()
    assert other.slots() is not SPEC.slots()
    assert (SPEC.concurrency, other.concurrency) == (4, 9)
