import pytest

from carryover.tasks.runtime.shaping import Preview, SizeError, WholeOutput


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


PRINT_MUCH = "print('x' * 50)"
WHOLE = "x" * 50 + "\n"


def test_whole_output_is_shown_by_default(open_one, contract):
    assert open_one(contract).run_block("print('x' * 200_000)").output == "x" * 200_000 + "\n"


def test_size_error_is_what_the_model_sees_of_a_block(open_with, contract):
    policy = SizeError(limit=20)
    interpreter = open_with(contract, shaping=policy)
    result = interpreter.run_block(f"kept = 1\n{PRINT_MUCH}")
    assert (result.output, result.error) == (policy.shape(WHOLE, 1, can_keep=False).text, None)
    assert (result.last_step_globals, interpreter.run_block("print('short')").output) == (("kept",), "short\n")


def test_preview_keeps_the_output_where_variables_live_on(open_with, contract):
    policy = Preview(limit=10)
    interpreter = open_with(contract, shaping=policy)
    first = interpreter.run_block(f"made = 1\n{PRINT_MUCH}")
    second = interpreter.run_block("len(globals().get('output_1', ''))")
    is_kept = contract.name == "persistent"
    kept = ("made", "output_1") if is_kept else ()
    assert first.output == policy.shape(WHOLE, 1, can_keep=is_kept).text
    assert (first.active_globals, first.last_step_globals) == (kept, kept or ("made",))
    assert second.result == str(len(WHOLE) if is_kept else 0)
    assert interpreter.verify_contract()


@pytest.mark.parametrize(
    "policy", [WholeOutput(), SizeError(limit=20), Preview(limit=20)], ids=lambda policy: policy.kind
)
def test_output_of_a_killed_step_is_shaped_and_kept_nowhere(open_with, contract, policy):
    interpreter = open_with(contract, shaping=policy)
    result = interpreter.run_block(f"{PRINT_MUCH}\nimport os; os._exit(0)")
    assert (result.output, result.active_globals) == (policy.shape(WHOLE, 1, can_keep=False).text, ())


@pytest.mark.parametrize("policy", [SizeError(limit=20), Preview(limit=20)], ids=lambda policy: policy.kind)
def test_value_of_a_block_is_shaped_like_its_output(open_with, contract, policy):
    interpreter = open_with(contract, shaping=policy)
    result = interpreter.run_block("long = 'x' * 50\nlong").result
    assert result == policy.shape(repr("x" * 50), 1, can_keep=False).text
    assert "x" * 21 not in result
    assert interpreter.run_block("50").result == "50"


def test_preview_that_was_kept_comes_back_with_a_restored_state(open_with):
    interpreter = open_with("persistent", shaping=Preview(limit=10))
    interpreter.run_block(PRINT_MUCH)
    snapshot = interpreter.snapshot()
    interpreter.run_block("del output_1")
    interpreter.restore(snapshot)
    assert interpreter.run_block("len(output_1)").result == str(len(WHOLE))
    snapshot.close()
