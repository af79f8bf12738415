"""The contracts of the study by name."""

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.traces.vocabulary import LETTERS, PAPER_CONTRACTS, ContractName


def test_every_name_has_a_contract_and_letters_of_its_own():
    assert list(CONTRACTS) == list(LETTERS) == list(ContractName)
    assert all(contract.name == name for name, contract in CONTRACTS.items())
    assert len(set(LETTERS.values())) == len(ContractName)


def test_the_paper_has_the_two_contracts_that_inject_nothing():
    assert [name for name, contract in CONTRACTS.items() if contract.binds == "nothing"] == list(PAPER_CONTRACTS)
