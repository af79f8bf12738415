"""What tells comparisons apart."""

from typing import Any

import pytest
from pydantic import ValidationError

from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms import plan
from carryover.tasks.cave.arms.dialogue import Speakers
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.cave.tracing import docstrings
from carryover.tasks.services.errors import UserError


def test_another_source_is_another_comparison(monkeypatch):
    before = SuitePlan().digest
    assert SuitePlan(suites=("types",), arms=("json",), replicates=1).digest == before
    monkeypatch.setattr(plan, "agents_source", lambda: "edited")
    assert SuitePlan().digest != before


def test_what_a_model_reads_of_a_function_counts(tmp_path):
    file = tmp_path / "suite.py"
    file.write_text('def heat(to):\n    """Heat to degrees Celsius."""\n')
    before = docstrings(tmp_path)
    file.write_text('def heat(to):\n    """Heat to degrees Fahrenheit."""  # a comment\n')
    assert docstrings(tmp_path) == ["Heat to degrees Fahrenheit."] != before


def test_trained_models_play_what_they_learnt():
    with pytest.raises(ValidationError, match="give --suites multi_variable --arms persistent_code,stateless_code"):
        SuitePlan(model="laptop", suites=("types",))
    with pytest.raises(ValidationError, match="give --suites multi_variable --arms persistent_code,stateless_code"):
        SuitePlan(model="laptop", suites=("multi_variable",), arms=("stateless_code", "json"))
    both = ("persistent_code", "stateless_code")
    assert SuitePlan(model="laptop", suites=("multi_variable",), arms=both).arms == both
    trained = SuitePlan(model="laptop", suites=("multi_variable",), arms=("stateless_code",))
    assert (trained.scale, trained.is_trained) == ("laptop", True)
    assert trained.model_copy(update={"endpoint_url": "http://127.0.0.1:1/v1"}).digest == trained.digest


@pytest.mark.parametrize(
    ("model", "scale", "is_oracle", "is_trained"),
    [("oracle", "smoke", True, False), ("laptop", "laptop", False, True), ("m", "paper", False, False)],
)
def test_the_model_decides_what_the_numbers_show(model, scale, is_oracle, is_trained):
    told = SuitePlan(model=model, suites=("multi_variable",), arms=("persistent_code",))
    assert (told.scale, told.is_oracle, told.is_trained) == (scale, is_oracle, is_trained)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "n"}, {"endpoint_url": "http://127.0.0.1:2/v1"}, {"user_model": "u"}, {"judge_model": "j"},
        {"user_endpoint_url": "http://127.0.0.1:3/v1"}, {"judge_endpoint_url": "http://127.0.0.1:4/v1"},
        {"case_seed": 1}, {"max_steps": 3}, {"context_window": 5000}, {"temperature": 0.5},
    ],
)  # fmt: skip
def test_what_changes_an_episode_is_another_comparison(changes):
    asked = SuitePlan(model="m", endpoint_url="http://127.0.0.1:1/v1")
    assert asked.model_copy(update=changes).digest != asked.digest


def test_budgets_and_libraries_reach_every_agent():
    spec = SuitePlan(max_steps=3, context_window=5000, temperature=0.5).spec
    assert (spec.max_steps, spec.context_window, spec.temperature) == (3, 5000, 0.5)
    assert spec.runtime.block_timeout_seconds == 60.0
    assert {"numpy", "pandas", *AgentSpec().runtime.preload} == set(spec.runtime.preload)


@pytest.fixture
def opened(monkeypatch):
    """Clients that a plan opens, as endpoint and model."""
    told = []

    def open_client(endpoint, model):
        told.append((endpoint, model))
        return model

    monkeypatch.setattr(plan, "OpenAIClient", open_client)
    return told


def test_an_oracle_needs_no_client_and_a_model_its_endpoint(opened):
    assert SuitePlan().open_client() is None
    assert SuitePlan().open_speakers() == Speakers()
    asked = SuitePlan(model="m", endpoint_url="http://127.0.0.1:1/v1", api_key_variable="KEY", concurrency=7)
    assert asked.open_client() == "m"
    ((endpoint, _),) = opened
    assert (endpoint.base_url, endpoint.api_key_variable) == ("http://127.0.0.1:1/v1", "KEY")
    assert (endpoint.concurrency, endpoint.extra_body) == (7, {})
    with pytest.raises(UserError, match="model 'm' has no endpoint; give --endpoint-url, or leave the model out"):
        SuitePlan(model="m").open_client()


def test_user_and_judge_are_asked_elsewhere_or_at_the_model(opened):
    made: Any = Speakers
    first, third, fourth = (f"http://127.0.0.1:{port}/v1" for port in (1, 3, 4))
    asked = SuitePlan(model="m", endpoint_url=first)
    assert asked.open_speakers() == made("m", None)
    assert asked.model_copy(update={"user_model": "u", "judge_model": "j"}).open_speakers() == made("u", "j")
    elsewhere = {"user_endpoint_url": third, "judge_model": "j", "judge_endpoint_url": fourth}
    assert asked.model_copy(update=elsewhere).open_speakers() == made("m", "j")
    assert [endpoint.base_url for endpoint, _ in opened] == [first, first, first, third, fourth]
