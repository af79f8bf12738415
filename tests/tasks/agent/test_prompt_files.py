import inspect
import re
from itertools import product

import pytest

from carryover.tasks.agent.prompt_format import fill_prompt, find_prompt, prompt_digest, read_prompts
from carryover.tasks.knapsack.environment import TOOL_NAMES, KnapsackEnvironment
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.runtime.contract import CONTRACTS


def texts(prompt_set="full"):
    return dict(read_prompts(prompt_set, KNAPSACK_FAMILY.prompts(prompt_set)))


def test_a_missing_prompt_is_named_with_those_there_are():
    with pytest.raises(ValueError, match=r"no prompt 'runtime_functions' in the set; it has base, goal, runtime_inj"):
        find_prompt(texts("compact"), "runtime_functions")


@pytest.mark.parametrize("prompt_set", ["full", "compact"])
def test_prompts_neither_begin_nor_end_with_blanks(prompt_set):
    assert [name for name, text in texts(prompt_set).items() if text != text.strip()] == []


def test_values_are_filled_in():
    text = fill_prompt(texts("compact"), "goal", capacity=31, budget=7)

    assert "capacity 31" in text
    assert "budget 7" in text


def test_a_familys_prompt_replaces_the_studys_own():
    prompts = read_prompts("compact", {"base": "Be brief."})

    assert prompts["base"] == "Be brief."
    assert "Names stay defined" in prompts["runtime_persistent"]
    assert "goal" not in prompts


def test_a_changed_word_of_a_prompt_is_another_digest():
    changed = texts("compact")
    changed["goal"] = changed["goal"].replace("capacity", "room", 1)

    assert prompt_digest(changed, "persistent") != prompt_digest(texts("compact"), "persistent")


def test_a_contracts_own_prompts_alone_change_its_digest():
    changed = texts()
    changed["demonstrations_stateless"] += " More."

    assert prompt_digest(changed, "persistent") == prompt_digest(texts(), "persistent")
    assert prompt_digest(changed, "stateless") != prompt_digest(texts(), "stateless")


@pytest.mark.parametrize("prompt_set", ["full", "compact"])
def test_only_runtime_instruction_and_demonstrations_depend_on_the_contract(prompt_set):
    by_contract = {contract: set() for contract in CONTRACTS}
    for name in texts(prompt_set):
        part, _, contract = name.partition("_")
        if contract:
            by_contract[contract].add(part)

    assert by_contract["persistent"]
    assert all(parts == by_contract["persistent"] <= {"runtime", "demonstrations"} for parts in by_contract.values())


def test_the_digest_follows_the_contract_and_the_set():
    digests = {
        prompt_digest(texts(name), contract)
        for name, contract in product(("full", "compact"), ("persistent", "stateless"))
    }

    assert len(digests) == 4


def test_the_tool_documentation_is_that_of_the_tools():
    documented = texts()["tools"]
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
