"""What each arm has: its contract, its objects and its files."""

import pytest

from carryover.tasks.cave.arms.arm import ARMS
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.runtime_spec import RuntimeSpec


def test_arms_differ_in_contract_objects_and_files():
    told = {
        name: (arm.contract, arm.writes_code, arm.is_injected, arm.tells_results, arm.has_files)
        for name, arm in ARMS.items()
    }
    assert told == {
        "persistent_code": ("persistent", True, True, False, False),
        "stateless_code": ("stateless", True, True, False, False),
        "code_act": ("persistent", True, False, True, False),
        "code_to_file": ("stateless", True, False, False, True),
        "json": (None, False, False, False, False),
        "json_python": ("persistent", False, False, False, False),
    }


def test_only_injected_objects_of_kept_names_hold_the_state():
    assert [name for name, arm in ARMS.items() if arm.keeps_variables] == ["persistent_code"]


def test_an_interpreter_keeps_files_where_the_arm_has_them():
    contracts = {name: arm.interpreter_contract for name, arm in ARMS.items() if arm.contract is not None}
    assert contracts == {
        "persistent_code": CONTRACTS["persistent"],
        "stateless_code": CONTRACTS["stateless"],
        "code_act": CONTRACTS["persistent"],
        "code_to_file": CONTRACTS["stateless"].model_copy(update={"keeps_files": True}),
        "json_python": CONTRACTS["persistent"],
    }
    with pytest.raises(ValueError, match=r"^the arm has no interpreter$"):
        _ = ARMS["json"].interpreter_contract


def test_only_files_have_a_folder():
    spec = RuntimeSpec()
    specs = {name: arm.runtime_spec(spec) for name, arm in ARMS.items()}
    assert specs == {**dict.fromkeys(ARMS, spec), "code_to_file": spec.with_folder()}
    assert spec.with_folder() != spec
