"""The contract that a trace declares: what was promised about bindings, and everything else in force beside it."""

import json
from functools import cache, partial

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.prompt_files import prompt_digest
from carryover.tasks.agent.spec import EpisodeSpec
from carryover.tasks.running.source_digest import source_digest
from carryover.tasks.runtime.contract import CONTRACTS, Contract
from carryover.tasks.runtime.open import Runtime

PLAYED_BY = ("carryover.tasks.agent", "carryover.tasks.knapsack", "carryover.tasks.runtime")
"""The loop, the environment and the runtime, whose source is part of a declaration."""
_code_digest = cache(partial(source_digest, PLAYED_BY))


def contract_in_force(condition: Condition, spec: EpisodeSpec) -> Contract:
    """Return what the runtime promises in an episode; its scope matters where bindings end with their block."""
    contract = CONTRACTS[condition.runtime_contract]
    return contract.model_copy(update={"scope": spec.stateless_scope}) if contract.lifetime == "block" else contract


def declare_contract(condition: Condition, spec: EpisodeSpec, runtime: Runtime) -> str:
    """Return the declaration as canonical JSON; it names no run, so equal episodes declare the same."""
    content = {
        "contract": contract_in_force(condition, spec).model_dump(mode="json"),
        "shown_contract": condition.shown_contract,
        "visibility": condition.visibility,
        "header": condition.header,
        "tool_call_cap": spec.tool_call_cap,
        "max_turns": spec.max_turns,
        "timeout_seconds": spec.timeout_seconds,
        "temperature": spec.temperature,
        "max_completion_tokens": spec.max_completion_tokens,
        "prompt_set": spec.prompt_set,
        "prompt_digest": prompt_digest(spec.prompt_set, condition.shown_contract),
        "varies_wording": spec.varies_wording,
        "faults": None if spec.faults is None else spec.faults.model_dump(mode="json"),
        "code_digest": _code_digest()[:16],
        "backend": runtime.backend,
        "sandbox_level": runtime.sandbox_level,
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":"))
