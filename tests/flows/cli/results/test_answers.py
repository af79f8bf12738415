import re
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.flows.cli.results import answers
from carryover.flows.cli.results.answers import UNKNOWN_SHAPE, print_estimate, print_study
from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.estimate import StageEstimate
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.limits import Prices
from carryover.tasks.sft.resources import GIB
from carryover.tasks.sft.training_spec import TRAINING
from carryover.tasks.traces.study_rows import RunRow
from tests.storage.conftest import build_episode, build_row


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    return tmp_path


def with_batch(plan, **changes):
    (part,) = plan.parts
    training = part.training.model_copy(update={"batch": part.training.batch.model_copy(update=changes)})
    return plan.model_copy(update={"parts": (part.model_copy(update={"training": training}),)})


def rows_of(printed):
    """The table's rows by stage, as lists of cells."""
    cells = [re.split(r"\s{2,}", line.strip()) for line in printed.splitlines()]
    return {row[0]: row[1:] for row in cells if len(row) > 4}


def test_a_dry_run_plans_the_paper_and_writes_nothing(home, capsys):
    print_estimate(resolve_plan("paper"), Limits())
    printed = capsys.readouterr().out
    # 950 examples of 4,630.6 tokens, three passes: 18 steps a pass in sequences that are 92 % full
    _, _, _, trained, steps, memory, hours = rows_of(printed)["main: training, persistent"]
    assert (trained, steps) == ("13,197,210", "57")
    assert 27 < float(memory) < 33
    for line in (
        "Estimated from Table 1's tokens, Table 2's time; ",
        "Table 5's mean tokens; Table 2's tokens and time",
        "Training hours on H100 GPUs, one training on each: ",
        "Each training over 2 GPUs (--gpus-per-training 2): ",
        "Each training over 8 GPUs (--gpus-per-training 8): ",
        "Attention on a GPU, installed as here: ",
    ):
        assert line in printed
    assert float(hours) > 0
    assert list(home.iterdir()) == []


def notes_of(capsys, plan, limits=None):
    print_estimate(plan, limits or Limits())
    printed = capsys.readouterr().out
    assert f"{plan.name} (plan {plan.digest}): estimates, nothing was run" in printed
    return printed[printed.index("Estimated from") :].splitlines()


@pytest.mark.parametrize(
    ("estimate", "cells"),
    [
        (StageEstimate("s", "", 0.0), ["s", "-", "-", "-", "-", "-", "-", "<0.01", "-"]),
        (StageEstimate("s", "", 0.01, 1000, 2000, 3000, 4.567), [
            "s", "1,000", "2,000", "3,000", "-", "-", "-", "0.01", "4.57",
        ]),
        (StageEstimate("s", "", 12.345, training_tokens=4000, steps=50, memory_bytes=(3 * GIB // 2, GIB)), [
            "s", "-", "-", "-", "4,000", "50", "1.5", "12.35", "-",
        ]),
        (StageEstimate("s", "", 0.5, 1, 2), ["s", "1", "2", "-", "-", "-", "-", "0.50", "0.00"]),
    ],
)  # fmt: skip
def test_a_row_of_an_estimate_has_dashes_for_what_it_lacks(estimate, cells):
    assert answers._cells(estimate) == cells


NOTES_OF_SMOKE = [
    "Estimated from means of an earlier laptop run.",
    "Hours are at 16 episodes of the models at a time.",
    "Models are asked for about 238,200 tokens, which is what --max-tokens-total counts.",
    "No endpoint is asked: nothing is billed.",
]


def test_the_notes_of_a_dry_run_are_its_assumptions(capsys):
    assert notes_of(capsys, resolve_plan("smoke")) == NOTES_OF_SMOKE
    of_family = notes_of(capsys, resolve_plan("smoke", Overrides(family="log_triage")))
    unmeasured = "Nobody has measured log_triage at this scale: tokens and hours are the knapsack's."
    assert unmeasured in of_family
    injected = notes_of(capsys, resolve_plan("smoke_injected"))
    assert injected[1] == (
        "Nobody has measured injected, injected+persistent at this scale: each counts as persistent where it keeps all "
        "names, else as stateless."
    )


def test_the_notes_of_the_papers_dry_run_hold_cost_and_hours(capsys, monkeypatch):
    monkeypatch.setattr("carryover.flows.cli.results.answers.choose_attention", lambda *_, has_gpu: f"for {has_gpu}")
    notes = notes_of(capsys, resolve_plan("paper"))
    assert notes == [
        "Estimated from Table 1's tokens, Table 2's time; means of an earlier laptop run; Table 5's mean tokens; "
        "Table 2's tokens and time.",
        "Hours are at 4 episodes of the models at a time, 4 of the teacher.",
        "Models are asked for about 306,619,000 tokens, which is what --max-tokens-total counts.",
        'The cost is unknown: give --prices, e.g. \'{"prompt": 0.5, "completion": 3}\'.',
        "Training hours on H100 GPUs, one training on each: 2.1 on 1, 1.5 on 2, 1.5 on 8.",
        "Each training over 2 GPUs (--gpus-per-training 2): 1.1 hours at best, 26.5 GiB on each.",
        "Each training over 8 GPUs (--gpus-per-training 8): 0.3 hours at best, 24.6 GiB on each.",
        "Attention on a GPU, installed as here: for True.",
    ]
    priced = notes_of(capsys, resolve_plan("paper"), Limits(prices=Prices(prompt=1.0)))
    assert priced == [note for note in notes if "--prices" not in note]


def test_trainings_on_processors_keep_no_gpus_from_sharing():
    paper, smoke = TRAINING["paper"], TRAINING["smoke"]
    odd = paper.model_copy(update={"batch": paper.batch.model_copy(update={"accumulation": 2})})
    for trainings, counts in (([paper, smoke], [2, 8]), ([odd, smoke], [2]), ([smoke], [2, 8])):
        plan: Any = SimpleNamespace(trainings=trainings)
        assert answers._shared_counts(plan) == counts


def test_a_dry_run_offers_no_sharing_of_unpacked_trainings(capsys):
    plan = with_batch(resolve_plan("paper"), packing=False)
    print_estimate(plan, Limits())
    assert "--gpus-per-training" not in capsys.readouterr().out
    with pytest.raises(UserError, match=r"cannot be shared by 2 GPUs: it needs batch\.packing"):
        print_estimate(plan, Limits(gpus_per_training=2))


@pytest.mark.parametrize("width", [60, 80])
def test_a_dry_run_keeps_to_the_terminal_and_cuts_nothing(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    print_estimate(resolve_plan("smoke"), Limits(prices=Prices(prompt=2.0)))
    table, _ = capsys.readouterr().out.split("Estimated from")
    assert "…" not in table
    assert max(map(len, table.splitlines())) <= width


def test_dry_run_counts_injected_contracts_as_the_papers_two(capsys):
    print_estimate(resolve_plan("smoke_injected"), Limits())
    assert "each counts as persistent where it keeps all names, else as stateless" in capsys.readouterr().out


def test_dry_run_separates_token_sums(capsys):
    print_estimate(resolve_plan("smoke"), Limits())
    printed = capsys.readouterr().out
    episodes, prompt, completion, training, *_ = rows_of(printed)["all, one after the other"]
    # 40 episodes per contract and 6 in each of 10 cells, four of them of scripts;
    # 6 x (3,840 + 10,500 + 2 x 8,500 + 2 x 1,700) prompt tokens
    assert (episodes, prompt) == ("140", "208,440")
    assert completion == "29,760"  # 6 x (410 + 1,250 + 2 x 1,050 + 2 x 600)
    assert training == "83,399"  # one pass over 40 examples of 1,049 and 19 of 2,181
    assert "Models are asked for about 238,200 tokens, which is what --max-tokens-total counts." in printed
    assert "No endpoint is asked: nothing is billed." in printed


@pytest.mark.parametrize(
    "asked",
    [{"teacher_url": "http://127.0.0.1:1/v1", "teacher_model": "any"}, {"endpoint_url": "http://127.0.0.1:1/v1"}],
)
def test_dry_run_of_an_endpoint_needs_prices_for_cost(capsys, asked):
    print_estimate(resolve_plan("smoke", Overrides(**asked)), Limits())
    printed = capsys.readouterr().out
    assert "give --prices" in printed
    assert "nothing is billed" not in printed


def test_dry_run_sum_includes_the_base_of_the_adapters(capsys):
    print_estimate(resolve_plan("laptop_full", Overrides(parts=("both",))), Limits())
    rows = rows_of(capsys.readouterr().out)
    tokens = {stage: int(row[3].replace(",", "")) for stage, row in rows.items() if row[3][:1].isdigit()}
    assert len(tokens) == 4
    assert tokens.pop("all, one after the other") == sum(tokens.values())
    assert "main: training, both base" in tokens


def test_dry_run_bills_only_the_teacher(capsys):
    print_estimate(resolve_plan("paper"), Limits(prices=Prices(prompt=2.0, completion=10.0)))
    rows = rows_of(capsys.readouterr().out)
    stages = ("main: teacher, persistent", "main: persistent -> persistent, easy", "main: training, persistent")
    assert [rows[stage][-1] for stage in stages] == ["83.62", "0.00", "-"]


def test_unknown_base_is_named_and_timed_as_the_paper_base(capsys):
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


def test_impossible_setting_stops_a_dry_run_before_any_output(capsys):
    plan = with_batch(resolve_plan("paper"), max_length=65536)
    with pytest.raises(UserError, match="sequences of 65,536 tokens exceed the model's 40,960 positions"):
        print_estimate(plan, Limits())
    assert capsys.readouterr().out == ""


def test_a_finished_study_prints_its_finding_on_one_screen(home, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    plan = resolve_plan("smoke")
    zone = LandingZone(home / "landing")
    zone.write({"runs": [build_row(RunRow, plan_digest=plan.digest)]}, "run")
    for train in ("persistent", "stateless"):
        for runtime in ("persistent", "stateless"):
            rows = build_episode(
                f"{train}-{runtime}",
                plan_digest=plan.digest,
                purpose="evaluation",
                train_contract=train,
                runtime_contract=runtime,
                finish_reason="finish_tool",
                score=0.5,
            )
            zone.write(rows, "run")
    merge(zone, home / "warehouse.duckdb")
    print_study(plan)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[:-1])) <= 80  # the last line is a path
    assert len(lines) <= 50
    text = "\n".join(lines)
    assert lines[1] == f"{plan.title} (plan {plan.digest})"
    assert "smoke ends every episode after 4 replies, so few finish or score" in text
    assert "ended with `error`" not in text
    assert all(part in text for part in ("carryover tables", "carryover report", str(home / "warehouse.duckdb")))
