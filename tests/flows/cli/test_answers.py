import os
import subprocess

import pytest

from carryover.flows.cli.answers import UNKNOWN_SHAPE, name_bases, name_ends, name_pace, name_queries, print_estimate
from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.running.errors import UserError
from carryover.tasks.running.limits import Prices
from carryover.tasks.traces.rows import ErrorRow, TurnRow
from carryover.tasks.traces.study_rows import RunRow
from tests.storage.conftest import build_episode, build_row

SYSTEM_PATH = "/usr/bin:/bin"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    return tmp_path


def with_batch(plan, **changes):
    (part,) = plan.parts
    training = part.training.model_copy(update={"batch": part.training.batch.model_copy(update=changes)})
    return plan.model_copy(update={"parts": (part.model_copy(update={"training": training}),)})


def test_a_study_names_its_base_and_the_demo_says_why():
    why = ", for which the goals of tasks/plans/hypotheses.toml hold best (README.md has the numbers)"
    traces = "; Tables 1 and 5 are of the teachers' traces, which have no base."
    assert name_bases(resolve_plan("laptop")) == f"Base scratch{why}{traces}"
    assert name_bases(resolve_plan("paper")) == f"Base hub{traces}"


def rows_of(printed):
    """The table's rows by stage, as lists of cells."""
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if line.startswith("│")]
    return {row[0]: row[1:] for row in cells}


def test_a_dry_run_plans_the_paper_and_writes_nothing(home, capsys):
    print_estimate(resolve_plan("paper"), Limits())
    printed = capsys.readouterr().out
    # 950 examples of 4,630.6 tokens, three passes: 18 steps a pass in sequences that are 92 % full
    _, _, _, trained, steps, memory, hours, _ = rows_of(printed)["main: training, persistent"]
    assert (trained, steps) == ("13,197,210", "57")
    assert 17 < float(memory) < 23
    for line in (
        "Estimated from Table 1's tokens, Table 2's time; Table 5's mean tokens; Table 2's tokens and time",
        "Training hours on H100 GPUs, one training on each: ",
        "Attention on a GPU, installed as here: ",
    ):
        assert line in printed
    assert float(hours) > 0
    assert list(home.iterdir()) == []


def test_a_dry_run_sums_endpoint_tokens_apart_from_training_tokens_and_names_no_cost_without_prices(capsys):
    print_estimate(resolve_plan("smoke"), Limits())
    printed = capsys.readouterr().out
    episodes, prompt, completion, training, _, _, _, cost = rows_of(printed)["all, one after the other"]
    # 40 episodes per contract and 6 in each of 8 cells; 6 x (3,840 + 10,500 + 2 x 8,500 + 2 x 1,700) prompt tokens
    assert (episodes, prompt, cost) == ("128", "208,440", "-")
    assert completion == "29,760"  # 6 x (410 + 1,250 + 2 x 1,050 + 2 x 600)
    assert training == "83,399"  # one pass over 40 examples of 1,049 and 19 of 2,181
    assert "about 238,200 tokens, which is what --max-tokens-total counts" in printed
    assert "give --prices" in printed


def test_a_dry_run_s_sum_holds_the_base_that_adapters_sit_on(capsys):
    print_estimate(resolve_plan("laptop_full", Overrides(parts=("both",))), Limits())
    rows = rows_of(capsys.readouterr().out)
    tokens = {stage: int(row[3].replace(",", "")) for stage, row in rows.items() if row[3] not in ("", "-")}
    assert len(tokens) == 4
    assert tokens.pop("all, one after the other") == sum(tokens.values())
    assert "main: training, both base" in tokens


def test_a_dry_run_bills_the_teacher_and_no_server_of_the_study_s_own(capsys):
    print_estimate(resolve_plan("paper"), Limits(prices=Prices(prompt=2.0, completion=10.0)))
    rows = rows_of(capsys.readouterr().out)
    stages = ("main: teacher, persistent", "main: persistent -> persistent, easy", "main: training, persistent")
    assert [rows[stage][-1] for stage in stages] == ["83.62", "0.00", "-"]


def test_a_base_of_unknown_size_is_named_and_takes_as_long_as_the_paper_s(capsys):
    print_estimate(resolve_plan("paper"), Limits())
    known = rows_of(capsys.readouterr().out)["main: training, persistent"]
    print_estimate(resolve_plan("paper", Overrides(base_model="no/body")), Limits())
    printed = capsys.readouterr().out
    unknown = rows_of(printed)["main: training, persistent"]
    assert UNKNOWN_SHAPE in printed
    assert (unknown[5], unknown[6]) == ("-", known[6])


def test_a_training_beyond_the_paper_s_gpu_is_a_warning(capsys):
    print_estimate(with_batch(resolve_plan("paper"), sequences=64), Limits())
    assert "Warning: a training takes more than the 80 GiB of the paper's GPU" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("smoke", "Episodes of models end after 4 turns of 64 tokens, so that none need be finished."),
        (
            "laptop",
            "Episodes of trained models end after 24 turns of 320 tokens, "
            "those of an untrained base after 2 turns of 320 tokens.",
        ),
        ("paper", "Episodes of models end after 40 turns of 12,288 tokens."),
    ],
)
def test_a_study_says_where_the_episodes_of_its_models_end(name, told):
    assert name_ends(resolve_plan(name)) == told


def test_a_study_says_how_many_of_its_episodes_shared_the_machine_as_their_seconds_stand_beside_the_paper_s():
    told = "Up to 100 of them ran at a time, which lengthens each one's seconds."
    assert name_pace(resolve_plan("laptop")) == told


def test_a_setting_that_cannot_work_stops_a_dry_run_before_anything_is_printed(capsys):
    plan = with_batch(resolve_plan("paper"), max_length=65536)
    with pytest.raises(UserError, match=r"batch\.max_length 65,536 is beyond the model's 40,960 positions"):
        print_estimate(plan, Limits())
    assert capsys.readouterr().out == ""


def make_episode(name, step_count, **values):
    """An episode of a persistent-trained model with one turn of 100 prompt tokens."""
    cell = {"train_contract": "persistent", "runtime_contract": "stateless", "finish_reason": "finish_tool"}
    rows = build_episode(name, purpose="evaluation", **{**cell, **values})
    rows["episodes"] = [row.model_copy(update={"step_count": step_count}) for row in rows["episodes"]]
    error = {"kind": "interpreter", "is_missing_name": True, "message": f"name '{name}' is not defined"}
    turns = [build_row(TurnRow, episode_id=name, turn=turn, prompt_tokens=100 * turn) for turn in (0, 1)]
    return rows | {"turns": turns, "errors": [build_row(ErrorRow, episode_id=name, turn=1, **error)]}


@pytest.mark.slow
def test_the_queries_to_start_with_ask_about_the_counted_episodes_of_the_plan(home, monkeypatch):
    episodes = (
        make_episode("first", 2, instance_id="a", attempt=0, finish_reason="error"),
        make_episode("again", 3, instance_id="a", attempt=1, score=0.5),
        make_episode("other", 4, instance_id="a", plan_digest="another"),
    )
    zone = LandingZone(home / "landing")
    zone.write({"runs": [build_row(RunRow)]}, "run")
    for rows in episodes:
        zone.write(rows, "run")
    merge(zone, home / "warehouse.duckdb")
    monkeypatch.chdir(home)
    monkeypatch.setenv("PATH", SYSTEM_PATH)  # a person's own may find `carryover`, and the shell below does not
    answers = [answer(command) for _, command in name_queries("plan")]
    assert answers == [
        "message,n\nname 'again' is not defined,1\n",
        "train_contract,runtime_contract,turn,tokens\npersistent,stateless,1,100.0\n",
        "episode_id,train_contract,runtime_contract,step_count,score\nagain,persistent,stateless,3,0.5\n",
    ]


def answer(command):
    """Run a printed command in a shell that finds only the machine's own programs, and return what it prints as CSV."""
    environment = {**os.environ, "PATH": SYSTEM_PATH}
    printed = subprocess.run(
        f"{command} --format csv", shell=True, env=environment, capture_output=True, text=True, check=True
    )
    return printed.stdout
