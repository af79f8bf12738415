"""Defaults and constraints of an agent, whole."""

from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.plan import SuitePlan
from tests.presets import as_kept, constraints, kept_presets


def test_an_agents_defaults_and_constraints_are_the_kept_ones():
    kept = kept_presets(__file__)
    declared = {name: value for name, value in AgentSpec() if name != "runtime"}
    assert as_kept({"agent": declared})["agent"] == kept["agent"]
    assert {spec.__name__: constraints(spec) for spec in (AgentSpec, SuitePlan)} == kept["constraints"]
