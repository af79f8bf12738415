"""The contracts of the study by name."""

from enum import StrEnum


class ContractName(StrEnum):
    """Contracts of the runtime about bindings, as plans, traces and tables name them."""

    PERSISTENT = "persistent"
    STATELESS = "stateless"
    INJECTED = "injected"
    """Stateless, with the environment's knowledge bound anew before each block (arXiv 2601.01569)."""
    INJECTED_PERSISTENT = "injected+persistent"

    @property
    def keeps_names(self) -> bool:
        """Whether names that a block binds are there in the next one."""
        return self in (ContractName.PERSISTENT, ContractName.INJECTED_PERSISTENT)


PAPER_CONTRACTS = (ContractName.PERSISTENT, ContractName.STATELESS)
"""The two of arXiv 2603.01209: what a plan trains on and plays under where it names no others."""
LETTERS: dict[str, str] = {
    ContractName.PERSISTENT: "P",
    ContractName.STATELESS: "S",
    ContractName.INJECTED: "I",
    ContractName.INJECTED_PERSISTENT: "IP",
}
"""Abbreviation of a contract in a cell: `P->S`."""
