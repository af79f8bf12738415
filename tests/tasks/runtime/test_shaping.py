from tasks.runtime.open import open_runtime
from tasks.runtime.protocol import CONTRACTS
from tasks.runtime.shaping import Preview, SizeError, WholeOutput
from tasks.runtime.spec import RuntimeSpec


def test_the_study_shows_everything():
    assert WholeOutput().shape("x" * 10_000, 1) == ("x" * 10_000, None)


def test_short_output_passes_every_policy():
    assert [policy.shape("short", 1).text for policy in (SizeError(limit=5), Preview(limit=5))] == ["short", "short"]


def test_size_error_stands_in_place_of_the_output():
    text = SizeError(limit=5).shape("123456", 1).text
    assert "6 characters, 5 are allowed" in text
    assert "123456" not in text


def test_preview_shows_both_ends():
    shaped = Preview(limit=4).shape("abcdefgh", 3)
    assert shaped.text == "ab\n... [4 characters left out; the whole is the str output_3] ...\ngh"
    assert shaped.kept_as == "output_3"


def test_rest_of_a_preview_is_a_variable():
    runtime = open_runtime(RuntimeSpec(shaping=Preview(limit=10)))
    interpreter = runtime.open_interpreter(CONTRACTS["persistent"], {}, instance_id="a")
    first = interpreter.run_block("print('x' * 50)")
    second = interpreter.run_block("len(output_1)")
    interpreter.close()
    runtime.close()
    assert first.active_globals == ("output_1",)
    assert second.result == "51"
