"""The default static policy of an agent."""

import pytest

from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.runtime.results import Violation


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
