"""A scripted model as a client."""

import asyncio

import pytest

from carryover.tasks.agent.protocol import Completion, CompletionRequest, Message
from carryover.tasks.agent.scripted import ScriptedModel, VariedModel


@pytest.mark.parametrize(("counter", "counts"), [(None, (0, 0)), (len, (2, 1))])
def test_a_reply_is_a_function_of_conversation_and_seed(counter, counts):
    messages = tuple(Message(role="user", content=text) for text in ("Go.", "On."))
    heard = []
    request = CompletionRequest(messages, seed=7, episode_id="e", on_text=heard.append)
    model = ScriptedModel("script", lambda said, seed: f"{said[-1].content} {seed}", counter, {"loop": "for"})
    completion = asyncio.run(model.complete(request))
    assert completion == Completion("On. 7", "stop", counts[0], 0, counts[1], 0.0)
    assert heard == ["On. 7"]
    assert (model.model_name, model.habits, model.token_source) == ("script", {"loop": "for"}, "training_tokenizer")
    assert asyncio.run(model.complete(request._replace(on_text=None))) == completion


def test_a_varied_model_opens_the_one_of_an_instance():
    varied = VariedModel("script", lambda instance_id: ScriptedModel(instance_id, lambda said, seed: ""))
    assert (varied.model_name, varied.open_for("i").model_name) == ("script", "i")
