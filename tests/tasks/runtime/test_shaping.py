import pytest

from tasks.runtime.open import open_runtime
from tasks.runtime.protocol import CONTRACTS
from tasks.runtime.shaping import Preview, SizeError, WholeOutput
from tasks.runtime.spec import RuntimeSpec


def test_the_study_shows_everything():
    assert WholeOutput().shape("x" * 10_000, 1, can_keep=True) == ("x" * 10_000, None)


def test_short_output_passes_every_policy():
    policies = (SizeError(limit=5), Preview(limit=5))
    assert [policy.shape("short", 1, can_keep=True).text for policy in policies] == ["short", "short"]


def test_size_error_stands_in_place_of_the_output():
    text = SizeError(limit=5).shape("123456", 1, can_keep=True).text
    assert "6 characters, 5 are allowed" in text
    assert "123456" not in text


def test_preview_shows_both_ends():
    shaped = Preview(limit=4).shape("abcdefgh", 3, can_keep=True)
    assert shaped.text == "ab\n... [4 characters left out; the whole is the str output_3] ...\ngh"
    assert shaped.kept_as == "output_3"


def test_preview_names_no_variable_where_none_lives_on():
    shaped = Preview(limit=4).shape("abcdefgh", 3, can_keep=False)
    assert shaped == ("ab\n... [4 characters left out; ask for less to see them] ...\ngh", None)


def test_stateless_preview_promises_no_variable():
    runtime = open_runtime(RuntimeSpec(shaping=Preview(limit=10)))
    interpreter = runtime.open_interpreter(CONTRACTS["stateless"], {}, instance_id="a")
    result = interpreter.run_block("print('x' * 50)")
    interpreter.close()
    runtime.close()
    assert "output_1" not in result.output
    assert result.last_step_globals == ()


@pytest.mark.parametrize("policy", [SizeError(limit=20), Preview(limit=20)])
def test_value_of_a_block_is_shaped_like_its_output(policy):
    runtime = open_runtime(RuntimeSpec(shaping=policy))
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    result = interpreter.run_block("long = 'x' * 50\nlong").result
    short = interpreter.run_block("len(long)").result
    interpreter.close()
    runtime.close()
    assert (result, short) == (policy.shape(repr("x" * 50), 1, can_keep=False).text, "50")
    assert result is not None
    assert "x" * 21 not in result


def test_rest_of_a_preview_is_a_variable():
    runtime = open_runtime(RuntimeSpec(shaping=Preview(limit=10)))
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    first = interpreter.run_block("print('x' * 50)")
    second = interpreter.run_block("len(output_1)")
    interpreter.close()
    runtime.close()
    assert first.active_globals == ("output_1",)
    assert second.result == "51"
