"""The one reply reader: which block of a reply runs, under the study's rule and under an agent's."""

import pytest

from carryover.tasks.agent.protocol import FunctionCall
from carryover.tasks.agent.reply import ANY_FENCE, PYTHON_FENCE, Reply, read_reply, without_thought

EITHER = pytest.mark.parametrize("fences", [ANY_FENCE, PYTHON_FENCE], ids=["study", "agent"])


@EITHER
def test_the_first_of_several_blocks_runs(fences):
    reply = read_reply("I look.\n```python\nprint(1)\n```\nThen:\n```python\nprint(2)\n```\n", fences)
    assert (reply.code, reply.block_count) == ("print(1)", 2)


@EITHER
def test_history_ends_with_the_first_block(fences):
    reply = read_reply("I look.\n```python\nprint(1)\n```\nAnd I invent an output: 1", fences)
    assert reply.kept_text == "I look.\n```python\nprint(1)\n```"


@EITHER
def test_carriage_returns_are_no_part_of_the_code(fences):
    text = "I look.\r\n```python\r\nif x:\r\n    y\r\n```\r\nThen."
    reply = read_reply(text, fences)
    assert reply.code == "if x:\n    y"
    assert reply.kept_text == "I look.\r\n```python\r\nif x:\r\n    y\r\n```"


def test_an_indented_fence_takes_its_indentation_from_an_agents_code():
    text = "   ```python\n   x = 1\n   if x:\n       y\n   ```"
    assert read_reply(text, PYTHON_FENCE).code == "x = 1\nif x:\n    y"


@pytest.mark.parametrize("marker", ["- ", "* ", "1. "])
def test_a_fence_in_a_list_item_holds_an_agents_block(marker):
    indent = " " * len(marker)
    text = f"{marker}```python\n{indent}x = 1\n{indent}if x:\n{indent}    y\n{indent}```"
    assert read_reply(text, PYTHON_FENCE).code == "x = 1\nif x:\n    y"


@pytest.mark.parametrize("before", ["   ", "- "])
def test_the_studys_indented_block_is_stripped_as_a_whole(before):
    assert read_reply(f"{before}```python\n   x = 1\n   y = 2\n   ```").code == "x = 1\n   y = 2"


@EITHER
def test_indentation_inside_a_block_is_kept(fences):
    assert read_reply("```python\n\nif x:\n    y\n\n```", fences).code == "if x:\n    y"
    assert read_reply('```python\ns = """\n   \n"""\n```', fences).code == 's = """\n   \n"""'


@EITHER
def test_a_fence_at_the_margin_indents_no_line_but_the_first(fences):
    assert read_reply("```python\n    n\n        x\n```", fences).code == "n\n        x"


@EITHER
def test_a_block_inside_a_thought_does_not_run(fences):
    reply = read_reply("<think>\n```python\nx = 1\n```\n</think>\n```python\ny = 2\n```", fences)
    assert (reply.code, reply.block_count) == ("y = 2", 1)


@EITHER
def test_a_thought_that_the_template_opened_holds_no_block(fences):
    reply = read_reply("I try\n```python\nx = 1\n```\n</think>\n\n```python\ny = 2\n```", fences)
    assert (reply.code, reply.block_count) == ("y = 2", 1)


@EITHER
def test_a_thought_without_an_end_hides_all_that_follows(fences):
    reply = read_reply("<think>\n```python\nx = 1\n```\n", fences)
    assert (reply.code, reply.is_unclosed) == (None, False)


@EITHER
def test_tags_of_a_thought_inside_a_block_are_code(fences):
    assert read_reply("```python\nprint('<think>')\nx = 1\n```", fences).code == "print('<think>')\nx = 1"


@EITHER
def test_an_empty_reply_holds_no_block(fences):
    assert read_reply("", fences) == Reply(code=None, block_count=0, kept_text="")
    assert read_reply("", fences).is_idle


@EITHER
def test_a_fence_that_is_never_closed_is_told_apart(fences):
    reply = read_reply("```python\nprint(1)\n", fences)
    assert (reply.code, reply.block_count, reply.is_unclosed) == (None, 0, True)
    assert reply.kept_text == "```python\nprint(1)\n"


@EITHER
def test_an_unclosed_second_block_does_not_count(fences):
    reply = read_reply("```python\nx\n```\n```python\ny", fences)
    assert (reply.code, reply.block_count, reply.is_unclosed) == ("x", 1, False)


@EITHER
def test_code_between_single_backticks_is_no_block(fences):
    assert read_reply("I call `finish()`.", fences).code is None


@EITHER
def test_an_empty_block_is_a_block(fences):
    reply = read_reply("```python\n```", fences)
    assert reply.code == ""
    assert not reply.is_idle


def test_the_studys_language_tag_is_optional():
    assert read_reply("```\nx = 1\n```").code == "x = 1"
    assert read_reply("```py\nx = 1\n```").code == "x = 1"


def test_the_studys_block_ends_at_the_nearest_fence():
    assert read_reply("```python\nprint('```')\n```").code == "print('"


def test_an_agents_block_ends_at_a_fence_on_its_own_line():
    assert read_reply("```Python\nprint('```')\n```", PYTHON_FENCE).code == "print('```')"


@pytest.mark.parametrize("text", ["```json\n{}\n```", "```\nprint(1)\n```", "~~~python\nx\n~~~"])
def test_other_fences_belong_to_an_agents_answer(text):
    assert read_reply(text, PYTHON_FENCE) == Reply(code=None, block_count=0, kept_text=text)


def test_an_answer_is_told_without_its_thought():
    assert without_thought("<think>It may be 3.</think>\n\nIt is 3.") == "It is 3."
    assert without_thought("It may be 3.\n</think>\n\nIt is 3.\n") == "It is 3."
    assert without_thought(" It is 3. ") == "It is 3."


def test_a_reply_of_calls_alone_is_not_idle():
    call = FunctionCall("1", "look", "{}")
    assert not Reply(None, 1, "", calls=(call,)).is_idle
    assert Reply(None, 0, "").is_idle
