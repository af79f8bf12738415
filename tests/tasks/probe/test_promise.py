import pytest

from carryover.tasks.probe.promise import find_promise, read_promise
from carryover.tasks.services.errors import UserError


@pytest.mark.parametrize(
    "sentence",
    [
        "Variables persist between calls.",
        "Variables persist no matter how many calls you make.",
        "Everything you define stays available.",
        "Objects that you create can be used in later turns.",
        "Your code runs in a stateful Jupyter notebook.",
        "State is preserved across executions!",
        "Functions that you define remain available in later blocks.",
        "The interpreter keeps all variables until the end.",
        "Variables defined in one call can be used in the next.",
        "The REPL remembers everything you defined.",
        "All code blocks share a single namespace.",
        "You do not need to import modules again, since imports persist between calls.",
        "Don't redefine functions; they remain available in later blocks.",
        "Variables persist until you reset the session.",
        "Variables persist, so you do not need to re-import modules in each block.",
        "Each code block runs in its own cell of a persistent Python session.",
    ],
)
def test_a_promise_of_persistence_is_found(sentence):
    prompt = f"You are an agent.\n* {sentence}\nThink first."
    assert find_promise(prompt, "prompt") == ("persistent", sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Each call runs in a fresh Python process.",
        "Every call starts from an empty namespace.",
        "The interpreter keeps no state.",
        "The tool retains nothing between calls.",
        "Your environment remembers nothing from earlier calls.",
        "Each snippet is executed in isolation.",
        "Code blocks are independent, and nothing is shared.",
        "Everything you define is lost after the call.",
        "Variables do not persist between calls.",
        "The tool is stateless.",
        "No state is shared between executions.",
        "Variables don't carry over.",
        "All variables are lost after each block.",
        "Each execution is isolated and independent.",
        "Every call is executed in a new process.",
        "Each invocation starts from a clean interpreter; nothing is remembered.",
        "Re-import every library and redefine all variables in each call.",
        "Variables from previous calls are not available.",
        "Files persist between calls, but variables do not.",
        "Do not assume that variables persist.",
        "Previously defined names are no longer available.",
        "The interpreter is restarted for every call.",
        "You need to re-import modules in each block.",
        "Every call starts a brand new, isolated Python session.",
        "Blocks are executed in a new shell.",
    ],
)
def test_a_promise_of_nothing_kept_is_found(sentence):
    assert find_promise(f"Use the tool. {sentence} Be brief.", "prompt") == ("stateless", sentence)


def test_a_wrapped_sentence_is_one():
    prompt = "Use the tool\n- All variables are\n  lost after a block\n- Be brief"
    assert find_promise(prompt, "prompt") == ("stateless", "All variables are lost after a block")


@pytest.mark.parametrize(
    "sentence",
    [
        "Keep the names of your variables short.",
        "Explain everything you define.",
        "Do not use names of tools as variables.",
        "Keep your answers short and remember to be polite.",
        "Print the final value of each variable.",
        "You can run code with the new python tool.",
        "Write new Python code in a code block to continue.",
        "You may clean the data in Python.",
        "Run `python clean.py` in the shell.",
        "Every independent sub-task must be solved.",
    ],
)
def test_advice_on_names_promises_nothing(sentence):
    with pytest.raises(UserError, match="promises nothing about state"):
        find_promise(sentence, "prompt")


def test_a_prompt_with_both_promises_is_refused():
    with pytest.raises(
        UserError, match=r"p promises both contracts: 'Variables persist\.' and 'The tool is stateless\.'"
    ):
        find_promise("Variables persist. The tool is stateless.", "p")


def test_a_claim_by_name_has_no_sentence():
    assert read_promise("stateless") == ("stateless", None)
    assert read_promise("persistent") == ("persistent", None)


def test_a_claim_is_read_from_a_prompts_file(tmp_path):
    file = tmp_path / "prompt.md"
    file.write_text("# Tools\n> Variables persist between calls. Names are kept.", encoding="utf-8")
    assert read_promise(str(file)) == ("persistent", "Variables persist between calls.")
    file.write_text("Be brief.", encoding="utf-8")
    with pytest.raises(UserError) as refused:
        read_promise(str(file))
    assert str(refused.value) == f"{file} promises nothing about state between blocks; name the claim itself"


@pytest.mark.parametrize("wanted", ["forgetful", "/"])
def test_what_is_no_claim_and_no_file_is_told_with_the_claims(wanted):
    with pytest.raises(UserError) as refused:
        read_promise(wanted)
    told = f"unknown claim {wanted!r}; choose from persistent, stateless, or name a file with the prompt"
    assert str(refused.value) == told
