import json
import re
from typing import NamedTuple

import pytest

from carryover.tasks.agent.prompt_format import read_prompts
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.runtime.contract import CONTRACTS

TEXTS = read_prompts("full", KNAPSACK_FAMILY.prompts("full"))
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


class Shown(NamedTuple):
    code: str
    answer: dict


def read_examples(contract):
    """Return the examples of a contract's demonstrations, each as its blocks and the messages that answer them."""
    text = TEXTS[f"demonstrations_{contract}"]
    examples = re.split(r"^Example \d: ", text, flags=re.MULTILINE)[1:]
    return [
        [
            Shown(block.group(1).strip(), json.loads(answer))
            for block, answer in zip(
                BLOCK.finditer(example), re.findall(r"^User:\n(.*)$", example, re.MULTILINE), strict=True
            )
        ]
        for example in examples
    ]


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_demonstrated_blocks_give_the_demonstrated_answers(runtime, contract):
    for example in read_examples(contract):
        interpreter = runtime.open_interpreter(CONTRACTS[contract], {}, instance_id="demonstration")
        for shown in example:
            result = interpreter.run_block(shown.code)
            assert shown.answer == {
                "observation": {
                    "success": True,
                    "result": result.result,
                    "output": result.output,
                    "error": None,
                },
                "runtime_state": {
                    "runtime": {"persistent": "persistent", "stateless": "reset"}[contract],
                    "active_globals": list(result.active_globals),
                    "last_step_globals": list(result.last_step_globals),
                },
            }
        interpreter.close()


def test_both_contracts_show_the_same_jobs():
    text = {contract: TEXTS[f"demonstrations_{contract}"] for contract in ("persistent", "stateless")}
    titles = {contract: re.findall(r"^Example \d: .*$", text[contract], re.MULTILINE) for contract in text}

    assert titles["persistent"] == titles["stateless"]
    assert len(titles["persistent"]) == 3
    assert [len(example) for example in read_examples("persistent")] == [
        len(example) for example in read_examples("stateless")
    ]


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_demonstrations_do_not_show_the_problem(contract):
    text = TEXTS[f"demonstrations_{contract}"].lower()

    assert not re.search(r"knapsack|item|inspect|capacity|weight", text)
