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
