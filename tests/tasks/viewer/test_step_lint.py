"""What the lint says about each step of an episode."""

from carryover.tasks.viewer.step_lint import episode_lint

HEAD = {"episode_id": "e", "shown_contract": "persistent"}


def lint_steps(*codes):
    turns = [{"turn": turn, "assistant_text": code, "observation": ""} for turn, code in enumerate(codes, start=1)]
    steps = [
        {"turn": turn, "step": turn, "code": code, "output": "", "error": None, "result": None}
        for turn, code in enumerate(codes, start=1)
    ]
    return episode_lint(HEAD, turns, steps)["steps"]


def test_code_that_cannot_be_read_is_kept_as_not_judged():
    assert lint_steps("x = 1", "x = (")[2]["is_judged"] is False


def test_a_read_step_without_findings_is_left_out():
    assert lint_steps("x = 1", "print(x)").keys() == {2}


def test_a_step_tells_the_names_that_it_takes_from_earlier_ones():
    found = lint_steps("import os\nx = 1", "print(x)", "y = 2\nprint(y)", "print(x, later)")
    assert found == {
        2: {"carried": ("x",), "early_names": (), "is_judged": True},
        4: {"carried": ("x",), "early_names": (), "is_judged": True},
    }


def test_a_step_tells_the_names_that_are_bound_too_late():
    assert lint_steps("print(y)", "y = 2") == {1: {"carried": (), "early_names": ("y",), "is_judged": True}}


def test_blocks_of_one_reply_follow_each_other():
    turns = [
        {"turn": 1, "assistant_text": "", "observation": None},
        {"turn": 2, "assistant_text": "", "observation": ""},
    ]
    plain = {"output": "", "error": None, "result": None}
    codes = ((1, 1, "x = 1"), (1, 2, "print(x)"), (2, 3, "print(x)"))
    steps = [{"turn": turn, "step": number, "code": code, **plain} for turn, number, code in codes]
    assert episode_lint(HEAD, turns, steps)["steps"].keys() == {2, 3}


def test_the_verdict_reads_what_each_step_printed_and_raised():
    turns = [{"turn": turn, "assistant_text": "", "observation": ""} for turn in (1, 2)]
    steps = [
        {"turn": turn, "step": turn, "code": code, "output": "", "error": None, "result": None}
        for turn, code in ((1, "x = 1"), (2, "print(x)"))
    ]
    assert "0 of 1 reads of earlier names failed" in episode_lint(HEAD, turns, steps)["verdict"]
    steps[1]["error"] = "NameError: name 'x' is not defined"
    assert "1 of 1 reads of earlier names failed" in episode_lint(HEAD, turns, steps)["verdict"]
    steps[1] |= {"error": None, "output": None}
    assert "reads of earlier names" not in episode_lint(HEAD, turns, steps)["verdict"]
