"""The default static policy of an agent."""

import pytest

from carryover.tasks.cave.agent_spec import POLICY, AgentSpec
from carryover.tasks.runtime.policy import StaticPolicy
from carryover.tasks.runtime.results import Violation
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.shaping import SizeError, WholeOutput


@pytest.mark.parametrize(
    ("code", "violation"),
    [
        *((f"import {module}", Violation("import", module, 1)) for module in ("ctypes", "multiprocessing")),
        *((f"from {module} import x", Violation("import", module, 1)) for module in ("socket", "subprocess")),
        *((f"{name}()", Violation("call", name, 1)) for name in ("eval", "exec", "globals", "locals", "os.system")),
        *((f"x.{name}", Violation("attribute", name, 1)) for name in ("__builtins__", "__globals__", "__subclasses__")),
    ],
)
def test_default_policy_forbids(code, violation):
    policy = AgentSpec().runtime.policy
    assert policy is not None
    assert policy.violations(code) == (violation,)


def test_a_given_backend_takes_the_place_of_the_specs():
    spec = AgentSpec(max_steps=3)
    assert spec.with_backend(None) is spec
    changed = spec.with_backend("jupyter")
    assert (changed.runtime.backend, changed.max_steps) == ("jupyter", 3)
    assert changed.with_backend("fork_tree") == spec


def test_an_interpreters_own_policy_goes_before_the_agents():
    given = AgentSpec(runtime=RuntimeSpec(block_timeout_seconds=2.0)).runtime
    assert (given.block_timeout_seconds, given.policy, given.shaping) == (2.0, POLICY, SizeError())
    own = AgentSpec(runtime=RuntimeSpec(policy=StaticPolicy(), shaping=WholeOutput())).runtime
    assert (own.policy, own.shaping) == (StaticPolicy(), WholeOutput())
