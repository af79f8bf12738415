"""The contracts of the study by name."""

from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.lifetime import lifetime_of
from carryover.tasks.traces.vocabulary import LETTERS, PAPER_CONTRACTS, ContractName


def test_every_name_has_a_contract_and_letters_of_its_own():
    assert list(CONTRACTS) == list(LETTERS) == list(ContractName)
    assert all(contract.name == name for name, contract in CONTRACTS.items())
    assert len(set(LETTERS.values())) == len(ContractName)


def test_names_are_kept_where_the_lifetime_keeps_them():
    kept = {name for name, contract in CONTRACTS.items() if lifetime_of(contract).keeps == "all"}
    assert kept == {name for name in ContractName if name.keeps_names}


def test_the_paper_has_the_two_contracts_that_inject_nothing():
    assert [name for name, contract in CONTRACTS.items() if contract.binds == "nothing"] == list(PAPER_CONTRACTS)
