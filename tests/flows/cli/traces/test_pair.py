"""`carryover episode --cell --instance --pair`: two episodes side by side."""

import pytest

from carryover.flows.cli.traces.pair import _fate, _shortened
from tests.flows.cli.calling import refused, run
from tests.tasks.viewer.viewer_home import make_viewer_home, played


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_viewer_home(tmp_path_factory.mktemp("pair"))


def test_heads_tell_score_ending_and_first_missing_name(home, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    told = run("episode", "--cell", "P->S", "--instance", 2, "--pair", "--home", home)
    head = " ".join(told.partition("turn 1")[0].split())
    assert "P->S on instance 2 P->P on instance 2" in head
    assert "score 0.500, max_turns after 3 turns, 320 tokens score 1.000, finish_tool after 2 turns, 220 tokens" in head
    assert "first missing name: items in step 2, lost at the end of step 1 no missing name" in head


def test_turns_stand_side_by_side_until_both_have_ended(home, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    told = run("episode", "--cell", "P→S", "--instance", "instance-1", "--pair", "--home", home)
    assert [line.count("turn 2") for line in told.splitlines() if "turn 2" in line] == [2]
    assert [line.count("turn 3") for line in told.splitlines() if "turn 3" in line] == [1]
    assert "missing: items" in told
    assert "ended" in told.partition("turn 3")[2]


def test_a_cell_and_an_instance_name_an_episode(home):
    assert "episode ps1" in run("episode", "--cell", "P->S", "--instance", 1, "--home", home)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "name an episode: its id, or --cell and --instance"),
        (("--instance", 1), "name an episode: its id, or --cell and --instance"),
        (("--cell", "P->S"), "name an episode: its id, or --cell and --instance"),
        (("ps1", "--pair"), "--pair wants --cell and --instance"),
        (("--cell", "P->S", "--pair"), "--pair wants --cell and --instance"),
        (("--instance", 1, "--pair"), "--pair wants --cell and --instance"),
        (("--cell", "P->X", "--instance", 1), "no episode of cell 'P->X'; choose from P->P, P->S, S->P, S->S"),
        (
            ("--cell", "P->S", "--instance", 9),
            "no episode of P->S on instance '9'; choose from 1 to 2, or give an id",
        ),
    ],
)
def test_what_names_no_episode_is_refused(home, options, said):
    assert refused("episode", *options, "--home", home) == (1, said)


@pytest.mark.parametrize("options", [("seen",), ("--cell", "P->P", "--instance", "hostile", "--pair")])
def test_a_trace_cannot_drive_the_terminal(tmp_path, options):
    code = "colour = '\x1b[2J\x9b31m\u202e'"
    rows = [
        *played("seen", "persistent", "persistent", "hostile", [code]),
        *played("beside", "persistent", "stateless", "hostile", [code]),
    ]
    home = make_viewer_home(tmp_path, 1, more=rows)
    told = run("episode", *options, "--home", home)
    assert [letter for letter in "\x1b\x9b\u202e" if letter in told] == []
    assert "␛[2J⟨U+009B⟩31m⟨U+202E⟩" in told


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ({"is_injected": True, "lost_step": 2, "bound_step": 1}, "dropped by the harness"),
        ({"is_injected": False, "lost_step": 2, "bound_step": 1}, "lost at the end of step 2"),
        ({"is_injected": False, "lost_step": None, "bound_step": 1}, "bound by step 1"),
        ({"is_injected": False, "lost_step": None, "bound_step": None}, "bound by no step"),
    ],
)
def test_a_missing_name_is_told_with_its_fate(missing, told):
    assert _fate(missing) == told


def test_a_long_observation_is_cut_for_half_a_screen():
    assert _shortened("x" * 600) == "x" * 600
    assert _shortened("x" * 1601) == f"{'x' * 600} ... 1,601 characters"
