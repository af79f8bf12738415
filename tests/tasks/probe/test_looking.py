"""How a block's text tells what became of planted state."""

import pytest

from carryover.tasks.probe.channels import Channel, setup, simpler
from carryover.tasks.probe.inputs import probe_inputs
from carryover.tasks.probe.looking import Look, look, outcome_of, plant, reason, run_block, tells
from carryover.tasks.services.errors import UserError
from tests.tasks.probe.scripted_runtime import Says

CHANNEL = Channel("x = TOKEN", "import os\nx == TOKEN", binds="x", remnant="x is not None")


@pytest.mark.parametrize(
    ("answer", "text"),
    [("1\n", "1\n"), ("", ""), (None, ""), (KeyError("x"), "run() raised KeyError: 'x'")],
)
def test_a_blocks_text_is_what_its_caller_sees(answer, text):
    assert run_block(Says(answer), "x") == text


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (UserError("the command ended"), "the command ended"),
        ({"text": "1"}, "run(code) returned dict; return the text that the block's caller sees"),
        (0, "run(code) returned int; return the text that the block's caller sees"),
    ],
)
def test_what_is_no_text_is_refused(answer, told):
    with pytest.raises(UserError) as refused:
        run_block(Says(answer), "x")
    assert str(refused.value) == told


def test_a_write_is_planted_where_its_mark_was_printed():
    runtime = Says("carryover-done\n", "NameError: no")
    assert plant(runtime, CHANNEL, 7) is None
    assert plant(runtime, CHANNEL, 7) == "NameError: no"
    assert runtime.ran[0] == "TOKEN = 7\nx = TOKEN\nprint('carryover' + '-done')"


def test_an_expression_is_planted_as_a_blocks_last_line():
    runtime = Says("carryover-done\n")
    plant(runtime, Channel("41 + 1", "_ == 42"), 7)
    assert runtime.ran == ["TOKEN = 7\nprint('carryover' + '-done')\n41 + 1"]


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ("carryover-found: True", True),
        ("carryover-found: False", False),
        ("NameError: name 'x' is not defined", False),
        ("NameError: name 'os' is not defined", None),
        ("", None),
    ],
)
def test_a_look_finds_state_misses_it_or_cannot_run(text, is_there):
    runtime = Says(text)
    assert look(runtime, CHANNEL, 7) == Look(is_there, text)
    assert runtime.ran == ["TOKEN = 7\nimport os\nprint('carryover' + '-found:', bool(x == TOKEN))"]


def test_a_missing_name_of_a_channel_that_binds_none_tells_nothing():
    assert look(Says("NameError: name 'x' is not defined"), Channel("", "x"), 7).is_there is None


@pytest.mark.parametrize(
    ("is_there", "channel", "answers", "outcome"),
    [
        (None, CHANNEL, [], "unavailable"),
        (True, CHANNEL, [], "kept"),
        (False, CHANNEL, ["carryover-found: True"], "stale"),
        (False, CHANNEL, ["carryover-found: False"], "lost"),
        (False, CHANNEL._replace(remnant=""), [], "lost"),
    ],
)
def test_a_look_tells_what_became_of_the_state(is_there, channel, answers, outcome):
    runtime = Says(*answers)
    assert outcome_of(runtime, channel, 7, Look(is_there, "")) == outcome
    assert runtime.ran == ["TOKEN = 7\nprint('carryover' + '-found:', bool(x is not None))"] * len(answers)


def test_an_expression_is_true_false_or_cannot_run():
    runtime = Says("carryover-found: True", "carryover-found: False", "no")
    assert [tells(runtime, "y == 1") for _ in range(3)] == [True, False, None]
    assert runtime.ran[0] == "TOKEN = 0\nprint('carryover' + '-found:', bool(y == 1))"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the runtime printed nothing"),
        (" \n", "the runtime printed nothing"),
        ("first\nlast. More", "last"),
        ("Code failed at line 1 due to: InterpreterError: forbidden. Ask for it", "InterpreterError: forbidden"),
        ("x" * 200, "x" * 120),
    ],
)
def test_the_reason_of_a_failed_look_is_short(text, told):
    assert reason(text) == told


def test_a_simpler_look_imports_what_it_asks():
    asked = Channel("", "__import__('os').getcwd() == __import__('sys').path[0] or __import__('os').x")
    assert simpler(asked).probe == "import os\nimport sys\nos.getcwd() == sys.path[0] or os.x"
    plain = Channel("", "globals().get('x') == 1", plain="x == 1", binds="x")
    assert simpler(plain) == plain._replace(probe="x == 1")
    assert setup(Channel("", "x"), 7) == "TOKEN = 7\n"


class Injects(Says):
    """Holds values as their host does."""

    def inject(self, values):
        self.given = values

    def injected(self):
        return self.given


def found(is_true):
    return f"carryover-found: {is_true}"


@pytest.mark.parametrize(
    ("answers", "change", "rebinding"),
    [
        (["", found(True), "", found(True)], "kept", "kept"),
        (["", found(False), "", found(False)], "undone: the input is fresh in each block", "overwritten by the input"),
        (["", "no", "", "no"], "lost: a later block has no such name", "lost: a later block has no such name"),
    ],
)
def test_an_inputs_fate_is_told_by_later_blocks(answers, change, rebinding):
    runtime = Injects(*answers)
    told = {"change in place": change, "host's object": "untouched: blocks have a copy", "rebinding": rebinding}
    assert probe_inputs(runtime) == told
    assert runtime.given == {"given_input": [1]}
    assert [runtime.ran[0], runtime.ran[2]] == ["given_input.append(2)", "given_input = 'mine'"]
    assert "given_input == [1, 2]" in runtime.ran[1]
    assert "given_input == 'mine'" in runtime.ran[3]
