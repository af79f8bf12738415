"""A sandbox that dies under a question ends it with a stop reason, and closing after it raises nothing."""

import asyncio
from typing import Any

import pytest

from carryover.tasks.agent.runtime_stream import RuntimeStream
from carryover.tasks.agent.stops import RUNTIME_FAULTS
from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.arms.calling import EXECUTE, CallingAgent
from carryover.tasks.cave.arms.oracle import Oracle
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.cave.suites.case import Call
from carryover.tasks.cave.tracing import Trace
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.traces.vocabulary import FinishReason


class DyingRuntime:
    """A runtime whose interpreters die at their second block, and cannot even be closed then."""

    def __init__(self, runtime, fault):
        self._runtime = runtime
        self._fault = fault
        self.backend = runtime.backend
        self.sandbox_level = runtime.sandbox_level

    def open_interpreter(self, contract, tools, **options):
        interpreter = self._runtime.open_interpreter(contract, tools, **options)
        fault = self._fault

        class Interpreter:
            blocks = 0

            def __getattr__(self, name):
                return getattr(interpreter, name)

            def run_block(self, code):
                self.blocks += 1
                if self.blocks == 2:
                    raise fault
                return interpreter.run_block(code)

            def close(self):
                interpreter.close()
                if self.blocks == 2:
                    raise fault

        return Interpreter()


@pytest.fixture(params=RUNTIME_FAULTS, ids=lambda kind: kind.__name__)
def fault(request):
    return request.param("the sandbox is gone")


def test_a_dying_sandbox_is_a_stop_reason(fork_tree, fault):
    model = scripted(block("x = 1"), block("y = 2"), "Done.")
    dying: Any = DyingRuntime(fork_tree, fault)
    with Agent(model, runtime=dying) as agent:
        trace = Trace(agent, run_id="run")
        answer = agent.ask("Go.", watch=trace.watch)
        recorded = trace.finish()
    assert (answer.stop, answer.step_count) == (FinishReason.ERROR, 2)
    assert answer.text == f"Stopped by an error: the runtime failed: {type(fault).__name__}: the sandbox is gone"
    assert (recorded.episode.turn_count, recorded.episode.step_count) == (2, 1)
    assert recorded.episode.error_message == answer.text
    agent.close()


async def collect(events):
    return [event async for event in events]


def test_a_dying_sandbox_ends_a_question_of_native_calls(fork_tree, fault):
    runtime = DyingRuntime(fork_tree, fault)
    python: Any = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="calls")
    calls = [(Call(EXECUTE, {"code": "x = 1"}),), (Call(EXECUTE, {"code": "y = 2"}),), "Done."]
    agent = CallingAgent(Oracle(calls), {}, AgentSpec(), name="calls", python=RuntimeStream(python))
    *_, answer = asyncio.run(collect(agent.play("Go.")))
    assert (answer.stop, answer.step_count) == (FinishReason.ERROR, 2)
    assert f"{type(fault).__name__}: the sandbox is gone" in answer.text
