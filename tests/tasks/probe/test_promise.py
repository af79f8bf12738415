import pytest

from carryover.tasks.probe.promise import find_promise, read_promise
from carryover.tasks.services.errors import UserError


@pytest.mark.parametrize(
    "sentence",
    [
        "Variables persist between calls.",
        "Your code runs in a stateful Jupyter notebook.",
        "State is preserved across executions!",
        "Functions that you define remain available in later blocks.",
        "The interpreter keeps all variables until the end.",
    ],
)
def test_a_promise_of_persistence_is_found(sentence):
    prompt = f"You are an agent.\n* {sentence}\nThink first."
    assert find_promise(prompt, "prompt") == ("persistent", sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Each call runs in a fresh Python process.",
        "Variables do not persist between calls.",
        "The tool is stateless.",
        "No state is shared between executions.",
        "Variables don't carry over.",
        "All variables are lost after each block.",
    ],
)
def test_a_promise_of_nothing_kept_is_found(sentence):
    assert find_promise(f"Use the tool. {sentence} Be brief.", "prompt") == ("stateless", sentence)


def test_a_prompt_with_both_promises_is_refused():
    with pytest.raises(
        UserError, match=r"p promises both contracts: 'Variables persist\.' and 'The tool is stateless\.'"
    ):
        find_promise("Variables persist. The tool is stateless.", "p")


def test_a_claim_by_name_has_no_sentence():
    assert read_promise("stateless") == ("stateless", None)
