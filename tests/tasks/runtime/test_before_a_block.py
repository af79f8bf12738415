"""What is settled before a block runs: contract, folder, seed, and whether it runs at all."""

import hashlib

import pytest

from carryover.tasks.runtime.contract import CONTRACTS, Contract, as_contract, is_described, named_contract
from carryover.tasks.runtime.identity import Identity
from carryover.tasks.runtime.policy import StaticPolicy
from carryover.tasks.runtime.results import BlockError, Violation
from carryover.tasks.runtime.runtime_spec import RuntimeSpec
from carryover.tasks.runtime.screening import refusal

NONE = StaticPolicy()


@pytest.mark.parametrize("code", ["", "x = 1", "é = 1", "x = (", "#" * 1_000_000])
def test_block_without_an_offence_runs(code):
    assert refusal(code, NONE) is None


def test_block_that_no_encoding_carries_is_refused():
    text = "SyntaxError: character 6 is the lone surrogate U+D800; write it as an escape"
    assert refusal("x = '\ud800\udfff'", NONE) == BlockError("interpreter", "SyntaxError", text)


def test_block_may_have_a_million_characters():
    text = "BlockTooLong: 1000001 characters; a block may have 1000000"
    assert refusal("#" * 1_000_001, NONE) == BlockError("interpreter", "BlockTooLong", text)


def test_block_against_the_policy_is_refused_with_its_places():
    policy = StaticPolicy(denied_imports=("os",), denied_calls=("eval", "open"))
    text = (
        "PolicyViolation: the block was not run; rewrite it without "
        "call of eval (line 1), call of open (line 1), import of os (line 1), import of os (line 2)"
    )
    violations = (
        Violation("call", "eval", 1), Violation("call", "open", 1), Violation("import", "os", 1),
        Violation("import", "os", 2),
    )  # fmt: skip
    code = "import os; open(eval('1'))\nimport os"
    assert refusal(code, policy) == BlockError("interpreter", "PolicyViolation", text, violations)


def test_long_call_without_a_name_is_cut():
    policy = StaticPolicy(allowed_calls=())
    (violation,) = policy.violations(f"rows[{'x' * 200!r}]()")
    assert violation == Violation("call", f"rows[{'x' * 200!r}]"[:100], 1)


def test_seed_is_a_digest_of_instance_step_and_salt():
    digest = hashlib.sha256(b"a:3:b").hexdigest()
    assert Identity("a", "b").seed(3) == digest


def test_contracts_by_name():
    own = Contract(name="own", lifetime="recent:2")
    assert named_contract("own", [CONTRACTS["stateless"], own]) is own
    assert named_contract("persistent") is CONTRACTS["persistent"]
    assert named_contract("functions") == Contract(name="functions", lifetime="functions")
    assert named_contract("recent-12") == Contract(name="recent-12", lifetime="recent:12")
    assert as_contract(own) is own
    assert as_contract("stateless") is CONTRACTS["stateless"]


@pytest.mark.parametrize("name", ["recent-0", "recent-", "recent-1x", "Persistent", ""])
def test_unknown_name_lists_the_contracts(name):
    choices = "persistent, stateless, injected, injected\\+persistent, recent-K, functions"
    with pytest.raises(ValueError, match=f"unknown contract '{name}'; choose from {choices}"):
        named_contract(name)
    with pytest.raises(KeyError, match=f"unknown contract '{name}'; choose from persistent, stateless, injected, "):
        CONTRACTS[name]


def test_contract_is_described_by_a_name_that_means_it():
    assert is_described(CONTRACTS["injected"])
    assert is_described(named_contract("recent-3"))
    assert not is_described(Contract(name="own", lifetime="episode"))
    with pytest.raises(ValueError, match="the name 'stateless' means another contract; choose another name"):
        is_described(Contract(name="stateless", lifetime="episode"))


@pytest.mark.parametrize("lifetime", ["episode", "block", "functions", "recent:1", "recent:010"])
def test_known_lifetimes_make_a_contract(lifetime):
    assert Contract(name="own", lifetime=lifetime).lifetime == lifetime


@pytest.mark.parametrize("lifetime", ["", "recent", "recent:0", "recent:x", "blocks", "episode "])
def test_unknown_lifetime_lists_the_choices(lifetime):
    with pytest.raises(ValueError, match=f"unknown lifetime '{lifetime}'; choose from episode, block, recent:K, fun"):
        Contract(name="own", lifetime=lifetime)


def test_folder_is_there_where_settings_or_contracts_ask_for_one():
    bare = RuntimeSpec()
    assert bare.with_folder().scratch_limit_bytes == 64 << 20
    for size in (0, 5):
        assert RuntimeSpec(scratch_limit_bytes=size).with_folder().scratch_limit_bytes == size
    plain = CONTRACTS["stateless"]
    assert bare.for_contracts([plain]) is bare
    for keeps in (True, False):
        keeping = plain.model_copy(update={"keeps_files": keeps})
        assert bare.for_contracts([plain, keeping]) == bare.with_folder()
