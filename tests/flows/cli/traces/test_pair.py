"""`carryover episode --cell --instance --pair`: two episodes side by side."""

import pytest
from rich.rule import Rule
from rich.syntax import Syntax

from carryover.flows.cli.traces.pair import _fate, _head, _shortened, _turn
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


def told(group):
    """Return the parts of a group of lines: rules by title, text and code with their styles."""
    parts = []
    for part in group.renderables:
        match part:
            case Rule():
                parts.append((f"--- {part.title}".strip(), part.style))
            case Syntax():
                parts.append((part.code, getattr(part.lexer, "name", None)))
            case _:
                parts.append((part.plain, part.style))
    return parts


EPISODE = {
    "condition": "P->S", "instance_number": 2, "episode_id": "ps2", "score": 0.5, "total_tokens": 1320,
    "finish_reason": "max_turns", "turn_count": 3,
}  # fmt: skip
MISSING = {"name": "items", "step": 2, "is_injected": False, "lost_step": 1, "bound_step": None}


def test_a_head_tells_what_is_known_of_an_episode():
    assert told(_head(EPISODE, {"missing": [MISSING, {**MISSING, "name": "other"}]})) == [
        ("P->S on instance 2", "bold"),
        ("episode ps2", "dim"),
        ("score 0.500, max_turns after 3 turns, 1,320 tokens", ""),
        ("first missing name: items in step 2, lost at the end of step 1", "bold red"),
    ]
    unknown = {**EPISODE, "score": None, "total_tokens": None}
    assert told(_head(unknown, {"missing": []}))[2:] == [
        ("score unknown, max_turns after 3 turns, unknown tokens", ""),
        ("no missing name", "dim"),
    ]


def test_a_turn_tells_words_code_missing_names_and_observation():
    steps = [{"step": 2, "code": "items\x1b"}, {"step": 3, "code": "y"}]
    turn = {"turn": 2, "before": "I look.", "steps": steps, "observation": "x" * 601}
    page = {"missing": [MISSING, {**MISSING, "name": "other"}, {**MISSING, "step": 9}]}
    assert told(_turn(turn, page)) == [
        ("--- turn 2", "dim"),
        ("I look.", ""),
        ("items␛", "Python"),
        ("missing: items", "bold red"),
        ("missing: other", "bold red"),
        ("y", "Python"),
        (f"{'x' * 600} ... 601 characters", "dim"),
    ]
    silent = {"turn": 1, "before": "", "steps": [], "observation": None}
    assert told(_turn(silent, page)) == [("--- turn 1", "dim")]
    assert told(_turn({**silent, "observation": ""}, page))[1:] == [("", "dim")]
    assert told(_turn(None, page)) == [("---", "dim"), ("ended", "dim")]


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
