"""Prompts and scripts of contracts of one's own."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.lifetime import Lifetime, lifetime_of
from carryover.tasks.traces.vocabulary import ContractName


class Script(NamedTuple):
    """The scripted teacher that a contract's promises suffice for."""

    contract: ContractName
    """Contract that its blocks are written for."""
    kept_blocks: int | None = None
    """Further blocks that a name outlives; the script sets up everything again when they are over.

    None: as long as `contract` keeps it.
    """


def script_of(contract: Contract) -> Script:
    """Return the script of a contract, by what it keeps.

    Where names are kept, the persistent one, which sets up everything again after K blocks of `recent:K`; else the
    stateless one. Where objects are injected, the one that reads them.
    """
    lifetime = lifetime_of(contract)
    is_injecting = contract.binds == "environment"
    if lifetime.keeps == "all":
        if is_injecting:
            return Script(ContractName.INJECTED_PERSISTENT)
        return Script(ContractName.PERSISTENT)
    if is_injecting:
        return Script(ContractName.INJECTED)
    if lifetime.step_count is not None:
        return Script(ContractName.PERSISTENT, lifetime.step_count)
    return Script(ContractName.STATELESS)


def lesson_of(contract: Contract, taught: Collection[str]) -> str | None:
    """Return the taught contract whose lesson plays a contract; None without one.

    The lesson is the contract's own, if `taught` names it; otherwise its script's.
    """
    if contract.name in taught:
        return contract.name
    script = script_of(contract).contract
    if script in taught:
        return script
    return None


def own_texts(contract: Contract, texts: Mapping[str, str], known_names: Sequence[str]) -> Mapping[str, str]:
    """Return the prompts that a set lacks for a contract: instruction and demonstrations.

    `known_names` are those that injection binds. The demonstrations are those of the contract's script.
    """
    lacking: dict[str, str] = {}
    instruction = f"runtime_{contract.name}"
    if instruction not in texts:
        lacking[instruction] = contract.words or describe_contract(contract, known_names)
    demonstrations = f"demonstrations_{script_of(contract).contract}"
    if demonstrations in texts:
        lacking[f"demonstrations_{contract.name}"] = texts[demonstrations]
    return lacking


def describe_contract(contract: Contract, known_names: Sequence[str]) -> str:
    """Return the sentences that tell a contract to a model."""
    sentences = [f"Runtime: {contract.name.upper()}.", _words_on_names(lifetime_of(contract))]
    if contract.keeps_files is True:
        sentences.append("Files stay after every block.")
    if contract.keeps_files is False:
        sentences.append("Files are gone after every block.")
    if contract.binds == "environment" and known_names:
        sentences.append(f"Before each block these names are bound anew: {', '.join(known_names)}.")
    return " ".join(sentences)


def _words_on_names(lifetime: Lifetime) -> str:
    if lifetime.keeps == "all":
        return "Names stay defined after every block; reuse them."
    if lifetime.keeps == "nothing":
        return "Every block runs in a fresh environment; define what you need again."
    if lifetime.step_count is None:
        return "Functions and classes stay defined after every block; define all else again."
    blocks = f"the next {lifetime.step_count} blocks"
    if lifetime.step_count == 1:
        blocks = "the next block"
    return f"A name that a block binds stays defined for {blocks}; bind it again to keep it longer."
