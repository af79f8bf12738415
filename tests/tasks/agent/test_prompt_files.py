import inspect
import re
import shutil

import pytest

from carryover.tasks.agent.prompt_format import FOLDER, fill_prompt, prompt_digest, read_prompt
from carryover.tasks.knapsack.environment import TOOL_NAMES, KnapsackEnvironment
from carryover.tasks.runtime.contract import CONTRACTS


def test_a_missing_prompt_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"no prompt 'runtime_functions' in the set 'compact'; it has base, goal"):
        read_prompt("compact", "runtime_functions")


def test_values_are_filled_in():
    text = fill_prompt("compact", "goal", capacity=31, budget=7)

    assert "capacity 31" in text
    assert "budget 7" in text


def test_a_changed_word_of_a_prompt_is_another_digest(tmp_path, monkeypatch):
    for name in ("same", "changed"):
        shutil.copytree(FOLDER / "compact", tmp_path / name)
    goal = tmp_path / "changed" / "goal.md"
    goal.write_text(goal.read_text(encoding="utf-8").replace("capacity", "room", 1), encoding="utf-8")
    expected = prompt_digest("compact", "persistent")
    monkeypatch.setattr("carryover.tasks.agent.prompt_format.FOLDER", tmp_path)

    assert prompt_digest("same", "persistent") == expected
    assert prompt_digest("changed", "persistent") != expected


@pytest.mark.parametrize("prompt_set", ["full", "compact"])
def test_only_runtime_instruction_and_demonstrations_depend_on_the_contract(prompt_set):
    by_contract = {contract: set() for contract in CONTRACTS}
    for file in (FOLDER / prompt_set).glob("*.md"):
        part, _, contract = file.stem.partition("_")
        if contract:
            by_contract[contract].add(part)

    assert all(parts == by_contract["persistent"] <= {"runtime", "demonstrations"} for parts in by_contract.values())


def test_the_digest_follows_the_contract_and_the_set():
    digests = {
        prompt_digest(name, contract) for name in ("full", "compact") for contract in ("persistent", "stateless")
    }

    assert len(digests) == 4


def test_the_tool_documentation_is_that_of_the_tools():
    documented = read_prompt("full", "tools")
    positions = []
    for name in TOOL_NAMES:
        tool = getattr(KnapsackEnvironment, name)
        parameters = list(inspect.signature(tool).parameters.values())[1:]
        signature = inspect.signature(tool).replace(parameters=parameters)
        text = f"def {name}{signature}:"
        positions.append(documented.index(text))
        body = inspect.cleandoc(re.split(r'"""', documented[positions[-1] :])[1])
        assert body == inspect.getdoc(tool)

    assert positions == sorted(positions)
