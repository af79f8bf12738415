"""The contracts: what the runtime promises about bindings."""

import re
from collections.abc import Iterable
from typing import Literal

from pydantic import Field, field_validator

from carryover.tasks.services.frozen_model import FrozenModel
from carryover.tasks.traces.vocabulary import ContractName

Scope = Literal["process", "namespace"]

_LIFETIME = re.compile(r"episode|block|functions|recent:0*[1-9][0-9]*")


class Contract(FrozenModel):
    """Promise of the runtime about bindings (arXiv 2603.01209, section 3)."""

    name: str
    """`persistent`, `stateless`, or the name of a third lifetime."""
    version: int = 1
    """Raised when the promise changes."""
    lifetime: str
    """Lifetime policy in force: `episode`, `block`, `recent:K` (K blocks), or `functions` (and classes, alone)."""
    scope: Scope = "process"
    """Scope of a binding's lifetime: the process, or user names only (an ablation arm)."""
    keeps_files: bool | None = Field(default=None, exclude_if=lambda keeps: keeps is None)
    """Whether the files of a scratch folder outlive a block; null if as long as names do, and then not dumped."""
    binds: Literal["nothing", "environment"] = Field(default="nothing", exclude_if=lambda binds: binds == "nothing")
    """Objects that the host binds before each block; `nothing` is not dumped, so that digests stay stable."""
    words: str = Field(default="", exclude_if=lambda words: not words)
    """What a prompt says about it; empty for a text made from the other fields, and then not dumped."""

    @field_validator("lifetime")
    @classmethod
    def _is_known(cls, lifetime: str) -> str:
        if not _LIFETIME.fullmatch(lifetime):
            raise ValueError(f"unknown lifetime {lifetime!r}; choose from episode, block, recent:K, functions")
        return lifetime


class _Contracts(dict[str, Contract]):
    """Names the choices where a name is unknown."""

    def __missing__(self, name: str) -> Contract:
        raise KeyError(f"unknown contract {name!r}; choose from {', '.join(self)}")


CONTRACTS: dict[str, Contract] = _Contracts(
    {
        ContractName.PERSISTENT: Contract(name="persistent", lifetime="episode"),
        ContractName.STATELESS: Contract(name="stateless", lifetime="block"),
        ContractName.INJECTED: Contract(name="injected", lifetime="block", binds="environment"),
        ContractName.INJECTED_PERSISTENT: Contract(name="injected+persistent", lifetime="episode", binds="environment"),
    }
)
"""The two contracts of the study, and both with the environment's knowledge as live objects (arXiv 2601.01569)."""
NAMED = "recent-K, functions"
"""Contracts besides those of `CONTRACTS` that a name describes whole."""

_RECENT = re.compile(r"recent-([1-9]\d*)")


def named_contract(name: str, own: Iterable[Contract] = ()) -> Contract:
    """Return a contract by name: one of `own`, or one that needs no definition.

    `recent-3` keeps names for three blocks, `functions` keeps functions and classes. Raise `ValueError` for an unknown
    name.
    """
    for contract in own:
        if contract.name == name:
            return contract
    if name in CONTRACTS:
        return CONTRACTS[name]
    if name == "functions":
        return Contract(name=name, lifetime="functions")
    recent = _RECENT.fullmatch(name)
    if recent is None:
        raise ValueError(f"unknown contract {name!r}; choose from {', '.join(CONTRACTS)}, {NAMED}")
    return Contract(name=name, lifetime=f"recent:{recent.group(1)}")


def is_described(contract: Contract) -> bool:
    """Tell whether the name describes the contract whole, so that no definition is needed.

    Raise `ValueError` if the name means another contract.
    """
    try:
        meant = named_contract(contract.name)
    except ValueError:
        return False
    if meant != contract:
        raise ValueError(f"the name {contract.name!r} means another contract; choose another name")
    return True


def as_contract(contract: str | Contract) -> Contract:
    """Return a contract, or that of a name; raise `ValueError` as `named_contract`."""
    if isinstance(contract, str):
        return named_contract(contract)
    return contract
