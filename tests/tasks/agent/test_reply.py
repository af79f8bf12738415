from carryover.tasks.agent.reply import parse_reply


def test_the_first_block_is_the_one_that_runs():
    reply = parse_reply("I look.\n```python\nprint(1)\n```\nThen:\n```python\nprint(2)\n```\n")

    assert reply.code == "print(1)"
    assert reply.block_count == 2


def test_history_ends_with_the_first_block():
    reply = parse_reply("I look.\n```python\nprint(1)\n```\nAnd I invent an output: 1")

    assert reply.kept_text == "I look.\n```python\nprint(1)\n```"


def test_a_language_tag_is_optional():
    assert parse_reply("```\nx = 1\n```").code == "x = 1"
    assert parse_reply("```py\nx = 1\n```").code == "x = 1"


def test_the_body_is_stripped_but_its_indentation_kept():
    assert parse_reply("```python\n\nif x:\n    y\n\n```").code == "if x:\n    y"


def test_a_reply_without_a_block_is_kept_whole():
    assert parse_reply("I am done.") == (None, 0, "I am done.")


def test_a_fence_that_is_never_closed_is_no_block():
    assert parse_reply("```python\nprint(1)\n") == (None, 0, "```python\nprint(1)\n")


def test_code_between_single_backticks_is_no_block():
    assert parse_reply("I call `finish()`.").code is None


def test_an_empty_block_is_a_block():
    assert parse_reply("```python\n```").code == ""
