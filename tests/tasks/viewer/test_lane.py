"""The state lane, worked out by hand."""

from carryover.tasks.viewer.lane import LaneCell, LaneName, MissingName, state_lane


def step(number, before=(), after=(), last=(), *, error=None, state_event="kept"):
    return {
        "step": number,
        "active_globals_before": before,
        "active_globals": after,
        "last_step_globals": last,
        "error": error,
        "state_event": state_event,
    }


def event(step, kind, name, *, is_deferred=False, is_definition=False):
    return {"step": step, "kind": kind, "name": name, "is_definition": is_definition, "is_deferred": is_deferred}


def error(step, name, *, is_injected=False):
    return {
        "turn": step,
        "step": step,
        "message": f"NameError: name '{name}' is not defined",
        "is_missing_name": not is_injected,
        "is_injected_missing_name": is_injected,
    }


def marks(lane):
    return {name.name: {cell.step: cell.marks for cell in name.cells} for name in lane.names}


def test_a_lane_holds_every_name_in_the_order_of_its_first_cell():
    steps = [
        step(1, after=("a", "f"), last=("a", "b", "f")),
        step(2, ("a", "c", "f"), ("a", "f"), ("a", "f")),
        step(3, ("a",), ("a", "n"), ("a", "n"), error="NameError"),
    ]
    events = [
        event(1, "call_site", "look"),
        event(1, "bind", "a"),
        event(1, "bind", "f", is_definition=True),
        event(1, "bind", "b"),
        event(2, "read", "a"),
        event(2, "read", "b"),
        event(2, "read", "d", is_deferred=True),
        event(3, "read", "b"),
        event(3, "bind", "e"),
    ]
    about_no_name = {**error(3, "b"), "message": "NameError"}
    in_no_step = {**error(3, "z"), "step": None}
    another = {**error(3, "y"), "is_missing_name": False}
    lane = state_lane(
        steps, events, [about_no_name, in_no_step, another, error(3, "b"), error(3, "b", is_injected=True)]
    )
    assert lane.names == (
        LaneName("a", False, (cell(1, "-+", "bound"), cell(2, "++", "read"), cell(3, "++"))),
        LaneName("f", True, (cell(1, "-+", "bound"), cell(2, "++"))),
        LaneName("b", False, (cell(1, "--", "bound", "lost"), cell(2, "--", "gone"), cell(3, "--", "missing"))),
        LaneName("c", False, (cell(2, "+-", "lost"),)),
        LaneName("n", False, (cell(3, "-+"),)),
    )
    assert lane.missing == (MissingName(turn=3, step=3, name="b", lost_step=1, bound_step=1, is_injected=False),)


def cell(number, alive_and_kept, *marks):
    is_alive, is_kept = (sign == "+" for sign in alive_and_kept)
    return LaneCell(number, is_alive, is_kept, marks)


def test_misses_name_the_last_step_before_that_lost_or_bound_the_name():
    steps = [
        step(1, last=("x",)),
        step(2, last=("x",)),
        step(3, error="NameError"),
        step(4, last=("x",)),
        step(5, error="NameError"),
    ]
    events = [event(number, "bind", "x") for number in (1, 2, 4)]
    lane = state_lane(steps, events, [error(5, "x"), error(3, "x"), error(3, "y")])
    assert [missing[1:5] for missing in lane.missing] == [(3, "x", 2, 2), (3, "y", None, None), (5, "x", 4, 4)]


def test_what_the_failed_block_binds_itself_was_not_there_before():
    steps = [step(1, last=("x",)), step(2, last=("x",), error="NameError")]
    events = [event(1, "bind", "x"), event(2, "read", "x"), event(2, "bind", "x")]
    lane = state_lane(steps, events, [error(2, "x")])
    assert marks(lane)["x"][2] == ("missing", "bound", "lost")
    assert lane.missing[0][1:5] == (2, "x", 1, 1)


def test_a_block_of_unknown_state_binds_unless_it_failed():
    failed = step(1, error="KeyError", state_event="unknown")
    assert state_lane([failed], [event(1, "bind", "x")], []).names == ()
    unread = [step(1, state_event="unknown")]
    assert state_lane(unread, [event(1, "read", "x")], []).names == ()


def test_a_kept_name_is_bound_read_and_bound_anew():
    steps = [step(1, after=("x",), last=("x",)), step(2, ("x",), ("x",), ("x",)), step(3, ("x",), ("x",), ("x",))]
    events = [event(1, "bind", "x"), event(2, "read", "x"), event(3, "bind", "x")]
    lane = state_lane(steps, events, [])
    assert marks(lane) == {"x": {1: ("bound",), 2: ("read",), 3: ("rebound",)}}
    assert lane.missing == ()


def test_a_missing_name_names_the_step_that_lost_it():
    steps = [step(1, last=("x",)), step(2, error="NameError")]
    lane = state_lane(steps, [event(1, "bind", "x"), event(2, "read", "x")], [error(2, "x")])
    assert marks(lane) == {"x": {1: ("bound", "lost"), 2: ("missing",)}}
    (missing,) = lane.missing
    assert missing == (2, 2, "x", 1, 1, False)


def test_a_read_behind_the_error_is_gone_and_did_not_raise():
    steps = [step(1, last=("x", "y")), step(2, error="NameError")]
    events = [event(1, "bind", "x"), event(1, "bind", "y"), event(2, "read", "x"), event(2, "read", "y")]
    lane = state_lane(steps, events, [error(2, "x")])
    assert marks(lane)["y"] == {1: ("bound", "lost"), 2: ("gone",)}
    assert [missing.name for missing in lane.missing] == ["x"]


def test_a_block_that_binds_before_it_reads_misses_nothing():
    steps = [step(1, last=("x",)), step(2, last=("x",))]
    events = [event(1, "bind", "x"), event(2, "bind", "x"), event(2, "read", "x")]
    assert marks(state_lane(steps, events, [])) == {"x": {1: ("bound", "lost"), 2: ("bound", "lost")}}


def test_a_function_s_body_may_read_what_the_block_binds_later():
    steps = [step(1, last=("x",)), step(2, last=("x",))]
    events = [event(1, "bind", "x"), event(2, "read", "x", is_deferred=True), event(2, "bind", "x")]
    assert marks(state_lane(steps, events, []))["x"][2] == ("bound", "lost")


def test_a_name_that_an_error_kept_from_being_bound_is_not_bound():
    lane = state_lane([step(1, error="ZeroDivisionError")], [event(1, "bind", "x")], [])
    assert lane.names == ()


def test_a_dropped_name_is_the_harness_s_fault():
    steps = [step(1, after=("x",), last=("x",)), step(2, error="NameError")]
    lane = state_lane(steps, [event(1, "bind", "x"), event(2, "read", "x")], [error(2, "x", is_injected=True)])
    (missing,) = lane.missing
    assert missing.is_injected
    assert missing.lost_step is None


def test_names_of_unknown_state_are_never_called_lost():
    steps = [step(number, state_event="unknown") for number in (1, 2, 3)]
    events = [event(1, "bind", "x"), event(2, "bind", "x"), event(3, "read", "x"), event(3, "read", "tool")]
    assert marks(state_lane(steps, events, [])) == {"x": {1: ("bound",), 2: ("bound",), 3: ("read",)}}


def test_a_missing_name_of_unknown_state_names_the_step_that_bound_it():
    steps = [step(1, state_event="unknown"), step(2, state_event="unknown", error="NameError")]
    lane = state_lane(steps, [event(1, "bind", "x"), event(2, "read", "x")], [error(2, "x")])
    (missing,) = lane.missing
    assert (missing.lost_step, missing.bound_step) == (None, 1)
