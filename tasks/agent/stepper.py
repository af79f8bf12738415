"""The interpreter's side of an episode: verify the contract, inject faults, run a block, record it, report names."""

import json
from dataclasses import InitVar, dataclass, field
from typing import Any

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.faults import FaultInjector, FaultSpec
from carryover.tasks.agent.prompt_format import RUNTIME_WORDS
from carryover.tasks.agent.recorder import EpisodeRecorder, TurnNames
from carryover.tasks.agent.variation import Variation
from carryover.tasks.knapsack.environment import KnapsackEnvironment
from carryover.tasks.runtime.backend import Runtime
from carryover.tasks.runtime.contract import CONTRACTS, Contract
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.services.errors import UserError


class ContractViolationError(UserError):
    """The canary says that bindings do not live as the contract promises; the run must stop."""


@dataclass
class Stepper:
    """One episode's interpreter and what happens around each of its blocks; synchronous, as the interpreter is."""

    environment: KnapsackEnvironment
    condition: Condition
    recorder: EpisodeRecorder
    variation: Variation
    faults: InitVar[FaultSpec | None]
    instance_id: str
    verified_count: int = 0
    """Recorded steps before which the canary agreed with the contract."""
    names: TurnNames = field(default_factory=TurnNames)
    """User names after the last block; unchanged by a turn without one."""
    _interpreter: Interpreter | None = None
    _event_count: int = 0
    _known_names: tuple[str, ...] = ()

    def __post_init__(self, faults: FaultSpec | None) -> None:
        self._injector = None if faults is None else FaultInjector(faults, self.instance_id)

    def open(self, runtime: Runtime, spec: EpisodeSpec, *, salt: str) -> None:
        """Start the interpreter; the sandbox learns the tools' names and documentation, and nothing of the instance."""
        self._interpreter = runtime.open_interpreter(
            contract_in_force(self.condition, spec),
            self.environment.tools,
            instance_id=self.instance_id,
            salt=salt,
            tool_call_cap=spec.tool_call_cap,
        )

    def close(self) -> None:
        """End the interpreter, if it was started."""
        if self._interpreter is not None:
            try:
                self._record_events(self._interpreter)
            finally:
                self._interpreter.close()

    def run(self, turn: int, code: str) -> BlockResult:
        """Verify the contract, run a block and record it; raise `ContractViolationError` where bindings break it."""
        interpreter = self._interpreter
        assert interpreter is not None, "the stepper was not opened"
        if not interpreter.verify_contract():
            contract = interpreter.contract
            raise ContractViolationError(
                f"instance {self.instance_id}, turn {turn}: bindings do not live as contract {contract.name!r} "
                f"promises (lifetime {contract.lifetime!r}); the episode is left out and the run stops"
            )
        active_before = self.names.active_globals
        if self._injector is not None:
            step = self.verified_count + 1
            self._injector.before_step(step, code, active_before, self.drop_name, self.environment.fail_next)
        if interpreter.contract.binds == "environment":
            interpreter.inject_all(self.environment.known())
        result = interpreter.run_block(code)
        fault = None if self._injector is None else self._injector.after_step(result, self.environment.disarm)
        self._record_events(interpreter)
        self.recorder.record_step(turn, code, result, active_before, fault)
        self.verified_count += 1
        self._known_names = active_before
        self.names = TurnNames(result.active_globals, result.last_step_globals)
        return result

    def drop_name(self, name: str) -> bool:
        """Remove a user name before the next block, on the injector's behalf; return whether it existed."""
        was_there = self._interpreter is not None and self._interpreter.drop_name(name)
        if was_there:
            self.recorder.dropped_names.add(name)
        return was_there

    def _record_events(self, interpreter: Interpreter) -> None:
        for step, kind, name, detail in interpreter.events[self._event_count :]:
            self.recorder.record_runtime_event(step, kind, name, None if detail is None else json.dumps(detail))
        self._event_count = len(interpreter.events)

    def header(self) -> dict[str, Any] | None:
        """Return the runtime header as the shown contract words it (arXiv 2603.01209, listing 1), or null.

        A condition whose header shows no names keeps the word for the runtime and drops the lists.
        """
        shown = self.condition.shown_contract
        if shown == self.condition.runtime_contract:
            active = self.names.active_globals
        else:
            active = self.names.last_step_globals if shown.keeps_names else ()
        standard = {
            "runtime": RUNTIME_WORDS.get(shown, shown),
            "active_globals": list(active),
            "last_step_globals": list(self.names.last_step_globals),
        }
        told = self.variation.header(standard, self._known_names)
        if told is None or self.condition.header == "names":
            return told
        return {"runtime": told["runtime"]}


def contract_in_force(condition: Condition, spec: EpisodeSpec) -> Contract:
    """Return what the runtime promises in an episode; its scope matters where bindings end with their block."""
    contract = CONTRACTS[condition.runtime_contract]
    return contract.model_copy(update={"scope": spec.stateless_scope}) if contract.lifetime == "block" else contract
