"""The replay's header: what the interpreter told the model before its turn, under both contracts."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from carryover.flows.cli.traces import replay
from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.rows import TurnRow
from carryover.tasks.traces.study_rows import ReusedEpisodeRow, RunRow
from tests.flows.cli.calling import refused, run
from tests.storage.conftest import build_episode, build_row

LONG_LINE = " + ".join(f"value_{number}" for number in range(20))
ALIVE = re.compile(r"alive now: (.*); when the block ended: (.*)")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One episode of each contract: its first block binds `ids`, the second one `best` as well."""
    home = tmp_path_factory.mktemp("replay")
    zone = LandingZone(home / "landing")
    zone.write({"runs": [build_row(RunRow)]}, "run")
    for contract in ("persistent", "stateless"):
        rows = build_episode(contract, runtime_contract=contract, code=LONG_LINE)
        bound = {1: (), 2: ("ids",), 3: ("best", "ids")}
        rows["turns"] = [
            build_row(
                TurnRow,
                episode_id=contract,
                turn=turn,
                assistant_text=f"go\n```python\n{LONG_LINE}\n```",
                active_globals=names if contract == "persistent" else (),
                last_step_globals=names if contract == "persistent" or turn == 2 else names[:1],
            )
            for turn, names in bound.items()
        ]
        zone.write(rows, "run")
    for episode_id, instance in (("ab12", "task-1"), ("ab13", "task-1"), ("task-1f", "task-2"), ("cd", "ab")):
        zone.write(build_episode(episode_id, instance_id=instance, runtime_contract="stateless"), "run")
    zone.write({"runs": [build_row(RunRow, run_id="later", plan_digest="later")]}, "later")
    zone.write({"reused_episodes": [build_row(ReusedEpisodeRow, plan_digest="later", episode_id="ab12")]}, "run")
    several = build_episode("several", step_count=3, runtime_contract="stateless")
    placed = [{"turn": turn, "code": f"x = {number}"} for number, turn in ((1, 1), (2, 1), (3, 2))]
    several["steps"] = [row.model_copy(update=place) for row, place in zip(several["steps"], placed, strict=True)]
    several["turns"] = several["turns"][:2]
    zone.write(several, "run")
    merge(zone, home / "warehouse.duckdb")
    return home


@pytest.mark.parametrize(
    ("name", "episode_id"),
    [("ab12", "ab12"), ("task-2", "task-1f"), ("ab", "cd"), ("pers", "persistent"), ("task-1f", "task-1f")],
)
def test_an_id_or_instance_goes_before_first_digits(home, name, episode_id):
    assert f"episode {episode_id} " in run("episode", name, "--home", home)


def test_a_plan_has_the_episodes_that_it_reuses(home):
    replay = run("episode", "task-1", "--plan", "later", "--home", home)
    assert "episode ab12 " in replay
    assert "played for plan plan, reused by plan later" in replay
    assert "reused" not in run("episode", "ab12", "--home", home)


def test_a_name_of_several_episodes_is_refused_with_candidates(home):
    status, said = refused("episode", "task-1", "--home", home)
    assert status == 1
    assert said.startswith("several episodes fit 'task-1': ab12 (")
    assert "ab13 (" in said
    assert "task-1f" not in said


@pytest.mark.parametrize(
    ("contract", "headers"),
    [
        ("persistent", [("ids", "ids"), ("best, ids", "best, ids")]),
        # the reset leaves nothing alive, and each block ends with what it bound itself
        ("stateless", [("none", "ids"), ("none", "best")]),
    ],
)
def test_replay_tells_live_names_and_names_at_block_end(home, contract, headers):
    replay = run("episode", contract, "--home", home)
    assert ALIVE.findall(replay) == [(alive, last) for alive, last in headers]
    first, _, rest = replay.partition("turn 2")
    assert "alive now" not in first  # nothing was bound yet
    assert ALIVE.findall(rest.partition("turn 3")[0]) == headers[:1]


def test_a_long_line_of_code_is_wrapped_not_cut(home, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    replay = run("episode", "persistent", "--home", home)
    assert {f"value_{number}" for number in range(20)} <= set(re.findall(r"value_\d+", replay))
    assert max(map(len, replay.splitlines())) <= 60


def turn(**values):
    plain = {"turn": 3, "injected_fault": None, "assistant_text": "", "code": None, "observation": None,
             "active_globals": [], "last_step_globals": []}  # fmt: skip
    return {**plain, **values}


def shown(renderable):
    console = Console(width=60, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return [line.strip("│ ").rstrip() for line in capture.get().splitlines()]


def test_a_turn_shows_reflection_code_observation_and_names():
    ran = turn(
        injected_fault="drop:x",
        assistant_text="I look.\n```python\nx\n```",
        code="x",
        observation='{"output": "a\\nb"}',
        active_globals=["x", "y"],
    )
    lines = shown(replay._turn([ran]))
    assert "turn 3" in lines[0]
    assert lines[1:3] == ["I look.", "injected fault: drop:x"]
    assert [line for line in lines if line.startswith("╭─")] == [lines[3], lines[6]]
    assert lines[3].startswith("╭─ code ")
    assert lines[4] == "x"
    assert lines[6].startswith("╭─ observation ")
    assert lines[7:11] == ["{", '"output": "a', 'b"', "}"]
    assert lines[-1] == "alive now: x, y; when the block ended: none"


def test_a_turn_of_several_blocks_shows_its_reply_and_observation_once():
    steps = [
        turn(assistant_text="Both.\n```", code=code, injected_fault=fault, observation="seen", active_globals=["x"])
        for code, fault in (("x = 1", None), ("y = 2", "drop:x"), ("z = 3", None))
    ]
    told = [line for line in shown(replay._turn(steps)) if not line.startswith(("╭─", "╰─"))]
    blocks = ["x = 1", "injected fault: drop:x", "y = 2", "z = 3"]
    assert told[1:] == ["Both.", *blocks, "seen", "alive now: x; when the block ended: none"]


def test_each_turn_of_an_episode_is_printed_once(home):
    replay = run("episode", "several", "--home", home)
    assert re.findall(r"turn \d|x = \d", replay) == ["turn 1", "x = 1", "x = 2", "turn 2", "x = 3"]


def test_a_reply_without_a_block_is_shown_whole():
    lines = shown(replay._turn([turn(assistant_text="I see. ``` x", last_step_globals=["x"])]))
    assert lines[1] == "I see."
    assert lines[2].startswith("╭─ reply ")
    assert lines[3] == "I see. ``` x"
    assert lines[-1] == "alive now: none; when the block ended: x"
    assert shown(replay._turn([turn(assistant_text="Done.")]))[1:] == ["Done."]
    assert len(shown(replay._turn([turn()]))) == 1
    assert replay._observation("not JSON") == "not JSON"
    assert replay._observation('{"output": "für\\n数"}') == '{\n  "output": "für\n    数"\n}'


def runs_of(rows, servers=()):
    """A warehouse of these runs, asked for by the start of an id."""

    def sql(query, **asked):
        if query == replay.command_sql("described_runs"):
            found = [row for row in rows if row[0].startswith(asked["start"])]
        elif query == replay.command_sql("latest_runs"):
            found = rows
        else:
            assert (query, asked) == (replay.command_sql("run_servers"), {"run_id": "ab"})
            found = servers
        return SimpleNamespace(rows=lambda: found)

    warehouse: Any = SimpleNamespace(sql=sql)
    return warehouse


def test_a_run_is_described_by_the_start_of_its_id():
    rows = [("ab", "laptop", '{"seed": 1}', '{"python": "3.11"}'), ("abc", "paper", "{}", "{}"), ("b", "x", "{}", "{}")]
    described = {"plan_name": "laptop", "plan": {"seed": 1}, "environment": {"python": "3.11"}}
    assert replay.describe_run(runs_of(rows, [('{"command": []}',)]), "ab") == {
        **described,
        "servers": [{"command": []}],
    }
    with pytest.raises(UserError) as refusal:
        replay.describe_run(runs_of(rows), "a")
    assert str(refusal.value) == "several runs start with 'a': ab, abc; give more digits"
    with pytest.raises(UserError) as refusal:
        replay.describe_run(runs_of(rows), "c")
    assert str(refusal.value) == "no run 'c'; the latest are ab, abc, b"
    with pytest.raises(UserError, match="the latest are none"):
        replay.describe_run(runs_of([]), "c")


@pytest.mark.parametrize(
    ("base", "contract", "who"),
    [
        ("scratch", "stateless", "stateless"), ("scratch", None, "base"), ("teacher", None, "teacher"),
        ("teacher", "stateless", "script of stateless"),
    ],
)  # fmt: skip
def test_a_player_is_named_by_its_training(base, contract, who):
    assert replay._who_played({"base": base, "train_contract": contract}) == who


def test_an_ending_tells_what_is_known():
    played = {"finish_reason": "answer", "turn_count": 4, "score": 0.5, "prompt_tokens": 1000, "completion_tokens": 234,
              "token_source": "server"}  # fmt: skip
    assert replay._ending(played) == "answer after 4 turns, score 0.500, 1,234 tokens"
    none = {**played, "score": None, "prompt_tokens": 0, "completion_tokens": 0}
    assert replay._ending(none) == "answer after 4 turns, score unknown, 0 tokens"
    imported = {**none, "token_source": "imported"}
    assert replay._ending(imported) == "answer after 4 turns, score unknown, unknown tokens"
    assert replay._ending({**imported, "completion_tokens": 3}).endswith(", 3 tokens")
