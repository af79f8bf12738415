"""The contract that a trace declares: what was promised about bindings, and everything else in force beside it."""

from functools import cache, partial

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.prompt_files import prompt_digest
from carryover.tasks.agent.spec import EpisodeSpec
from carryover.tasks.running.source_digest import canonical_json, source_digest
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
        **spec.model_dump(exclude={"stateless_scope"}),
        "contract": contract_in_force(condition, spec),
        "shown_contract": condition.shown_contract,
        "visibility": condition.visibility,
        "header": condition.header,
        "prompt_digest": prompt_digest(spec.prompt_set, condition.shown_contract),
        "code_digest": _code_digest()[:16],
        "backend": runtime.backend,
        "sandbox_level": runtime.sandbox_level,
    }
    return canonical_json(content)
