"""A runtime that fails or breaks its promise under an episode."""

import json
import threading

import pytest

from carryover.tasks.agent.protocol import ModelError
from carryover.tasks.agent.study_speaker import ContractViolationError
from carryover.tasks.traces.vocabulary import FinishReason
from tests.tasks.agent.playing import Model, block, play


class BrokenPromise:
    """A runtime whose canary says that bindings do not live as promised, from a given step on."""

    def __init__(self, runtime, step):
        self._runtime = runtime
        self._step = step
        self.backend, self.sandbox_level = runtime.backend, runtime.sandbox_level
        self.has_closed = False

    def open_interpreter(self, contract, tools, **options):
        outer, interpreter = self, self._runtime.open_interpreter(contract, tools, **options)

        class Interpreter:
            checks = 0

            def __getattr__(self, name):
                return getattr(interpreter, name)

            def verify_contract(self):
                self.checks += 1
                return interpreter.verify_contract() and self.checks < outer._step

            def close(self):
                outer.has_closed = True
                interpreter.close()

        return Interpreter()


def test_broken_contract_stops_the_run_before_the_step(runtime):
    model = Model(block("x = 1"), block("y = 2"))
    broken = BrokenPromise(runtime, step=2)

    with pytest.raises(ContractViolationError, match="turn 2: bindings do not live as contract 'persistent' promises"):
        play(broken, model)
    assert len(model.requests) == 2
    assert broken.has_closed


def test_block_that_bends_the_canary_ends_only_its_episode(runtime):
    bend = "import os; names = globals(); os.register_at_fork(before=lambda: names.update(__canary__=99))"
    recorded = play(runtime, Model(block(bend), block("y = 2")))

    assert recorded.episode.finish_reason == FinishReason.ERROR
    assert recorded.episode.error_message == (
        "the runtime failed: StateLostError: "
        "the namespace was changed between two steps: it does not remember the last block"
    )
    assert (recorded.episode.turn_count, recorded.episode.step_count) == (2, 1)


class Meddling:
    """A runtime whose interpreters are injected into and frozen beside their steps."""

    def __init__(self, runtime):
        self._runtime = runtime
        self.backend, self.sandbox_level = runtime.backend, runtime.sandbox_level

    def open_interpreter(self, contract, tools, **options):
        interpreter = self._runtime.open_interpreter(contract, tools, **options)
        interpreter.inject("limit", 3)
        snapshot = interpreter.snapshot()
        interpreter.restore(snapshot)
        snapshot.close()
        return interpreter


def test_state_changes_are_rows_in_order(runtime):
    model = Model(block("x = limit"), block("import os; os._exit(0)"), block("y = x"), block("finish()"))
    recorded = play(Meddling(runtime), model)

    assert [(event.sequence, event.step, event.kind, event.name) for event in recorded.runtime_events] == [
        (0, 0, "inject", "limit"),
        (1, 0, "snapshot", None),
        (2, 0, "restore", None),
        (3, 2, "rolled_back", None),
    ]
    assert recorded.runtime_events[0].detail_json == '{"runs_in": "host"}'
    assert [step.state_event for step in recorded.steps] == ["kept", "rolled_back", "kept", "kept"]


def test_an_unknown_contract_is_named_with_the_choices(runtime):
    with pytest.raises(ValueError, match="unknown contract 'eternal'; choose from persistent, stateless, injected"):
        play(runtime, Model(block("finish()")), "eternal")


class FailingRuntime:
    """A runtime whose interpreters fail from a given block on, as when their processes are gone."""

    def __init__(self, runtime, block):
        self._runtime = runtime
        self._block = block
        self.backend, self.sandbox_level = runtime.backend, runtime.sandbox_level

    def open_interpreter(self, contract, tools, **options):
        if self._block == 0:
            raise OSError("no process can be started")
        outer, interpreter = self, self._runtime.open_interpreter(contract, tools, **options)

        class Interpreter:
            blocks = 0

            def __getattr__(self, name):
                return getattr(interpreter, name)

            def run_block(self, code):
                self.blocks += 1
                if self.blocks == outer._block:
                    raise BrokenPipeError("the interpreter is gone")
                return interpreter.run_block(code)

        return Interpreter()


def test_a_runtime_that_fails_ends_the_episode_as_data(runtime):
    recorded = play(FailingRuntime(runtime, block=2), Model(block("x = 1"), block("y = 2")))

    assert recorded.episode.finish_reason == FinishReason.ERROR
    assert recorded.episode.error_message == "the runtime failed: BrokenPipeError: the interpreter is gone"
    assert (recorded.episode.turn_count, recorded.episode.step_count) == (2, 1)
    assert recorded.episode.is_contract_verified
    assert recorded.episode.prompt_tokens == 200


def test_a_runtime_that_cannot_start_ends_the_episode_as_data(runtime):
    recorded = play(FailingRuntime(runtime, block=0), Model(block("x = 1")))

    assert recorded.episode.finish_reason == FinishReason.ERROR
    assert recorded.episode.error_message == "the runtime failed: OSError: no process can be started"
    assert (recorded.episode.turn_count, recorded.episode.step_count) == (1, 0)
    assert recorded.episode.prompt_tokens == 100
    assert not recorded.episode.is_contract_verified


def test_failed_start_beside_a_failed_endpoint_keeps_one_ending(runtime):
    recorded = play(FailingRuntime(runtime, block=0), Model(ModelError("the endpoint is down")))

    assert recorded.episode.finish_reason == FinishReason.ERROR
    assert recorded.episode.error_message == "the endpoint is down"


class RuntimeThatWaits:
    """A runtime that opens no interpreter before the model was asked."""

    def __init__(self, runtime, is_asked):
        self._runtime = runtime
        self._is_asked = is_asked
        self.backend, self.sandbox_level = runtime.backend, runtime.sandbox_level

    def open_interpreter(self, contract, tools, **options):
        if not self._is_asked.wait(timeout=60):
            raise OSError("the model was not asked")
        return self._runtime.open_interpreter(contract, tools, **options)


def test_the_interpreter_opens_while_the_first_reply_is_waited_for(runtime):
    is_asked = threading.Event()

    class TellingModel(Model):
        async def complete(self, request):
            is_asked.set()
            return await super().complete(request)

    recorded = play(RuntimeThatWaits(runtime, is_asked), TellingModel(block("finish()")))
    assert recorded.episode.finish_reason == FinishReason.FINISH_TOOL


def test_contract_without_a_step_is_not_verified(runtime):
    assert not play(runtime, Model("no block"), max_turns=1).episode.is_contract_verified
    assert play(runtime, Model("no block", block("x = 1")), max_turns=2).episode.is_contract_verified


def test_namespace_scope_keeps_the_process(runtime):
    model = Model(block("import sys\nx = sys.kept = 1"), block("'x' in globals(), hasattr(__import__('sys'), 'kept')"))
    results = {}
    for scope in ("process", "namespace"):
        recorded = play(runtime, Model(*model.replies), "stateless", stateless_scope=scope, max_turns=2)
        assert json.loads(recorded.episode.contract_json)["contract"]["scope"] == scope
        results[scope] = recorded.steps[1].result
    assert results == {"process": "(False, False)", "namespace": "(False, True)"}


def test_scope_means_nothing_to_an_episode_whose_names_stay(runtime):
    recorded = play(runtime, Model(block("x = 1"), block("x")), stateless_scope="namespace", max_turns=2)
    assert json.loads(recorded.episode.contract_json)["contract"]["scope"] == "process"
    assert recorded.steps[1].result == "1"
