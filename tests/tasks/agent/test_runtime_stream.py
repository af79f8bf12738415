from types import SimpleNamespace
from typing import Any

from carryover.tasks.agent.runtime_stream import run_verified
from carryover.tasks.runtime.engine import StateLostError
from carryover.tasks.runtime.results import BlockResult


def test_a_block_runs_unverified_once_the_state_is_lost():
    def lose() -> bool:
        raise StateLostError("the process has ended")

    result = BlockResult(output="1")
    interpreter: Any = SimpleNamespace(verify_contract=lose, run_block=lambda code: result)
    acted = run_verified(interpreter, "x")
    assert (acted.code, acted.result, acted.is_verified) == ("x", result, False)
    interpreter.verify_contract = lambda: True
    assert run_verified(interpreter, "x").is_verified
