"""An agent's client: given, or of an endpoint with every setting."""

from typing import Any

import pytest

from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.cave import connecting
from carryover.tasks.cave.connecting import Connection
from carryover.tasks.cave.scripted import scripted

NOTHING = Connection(None, None, None, None, None, 300.0, 3)
URL = "http://127.0.0.1:1/v1"


@pytest.fixture(autouse=True)
def opened(monkeypatch):
    """Clients that were opened."""
    found: list[Any] = []

    def open_client(spec, model, *, key, headers):
        found.append((spec, model, key and key.get_secret_value(), headers))
        return "client"

    monkeypatch.setattr(connecting, "OpenAIClient", open_client)
    return found


def test_every_setting_reaches_the_client(opened):
    asked = Connection(URL, "KEY", "hunter2", {"x-team": "blue"}, {"top_k": 3}, 7.0, 9)
    assert asked.client("tiny") == "client"
    spec = EndpointSpec(
        base_url=URL, api_key_variable="KEY", extra_body={"top_k": 3}, request_timeout_seconds=7.0, max_retries=9
    )
    assert opened == [(spec, "tiny", "hunter2", {"x-team": "blue"})]


def test_an_endpoint_needs_no_key_headers_or_fields(opened):
    NOTHING._replace(endpoint=URL).client("tiny")
    ((spec, model, key, headers),) = opened
    assert (spec.extra_body, spec.api_key_variable, model, key, headers) == ({}, None, "tiny", None, None)


def test_a_given_client_is_taken_as_it_is(opened):
    model = scripted("Hi.")
    assert NOTHING.client(model) is model
    with pytest.raises(ValueError, match=r"^model 'tiny' has no endpoint; give endpoint='http://127.0.0.1:8000/v1'"):
        NOTHING.client("tiny")
    assert opened == []
