"""A model server that dies during an evaluation is started again, and the evaluation goes on."""

import re
from contextlib import contextmanager, nullcontext
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace

import polars as pl
import pytest

from carryover.flows import evaluate_models as flow_module
from carryover.flows.evaluate_models import SERVER_STARTS, evaluate_models, evaluate_part
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.nightly.night_spec import NightObject
from carryover.tasks.plans.models import ALL_CELLS, ChosenCells, StudyModel
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.serving.process import DeadServerError
from tests.flows.conftest import STUDY
from tests.flows.flow_process import start_python

PLAN = resolve_plan("smoke")
KILLING_STUDY = """
import os
import signal
from contextlib import suppress
from pathlib import Path

from carryover.flows.cli.command import run_as_command
from carryover.flows.reproduce_study import reproduce_study
from carryover.storage.zone.landing import LandingZone

write = LandingZone.write


def write_and_kill_the_server(*arguments):
    landed = write(*arguments)
    for path in Path("/proc").glob("[0-9]*/cmdline") if landed.file("episodes") else ():
        with suppress(OSError):
            words = path.read_text(errors="replace")
            if "serving.cpu_server" in words and os.environ["CARRYOVER_HOME"] in words:
                os.kill(int(path.parent.name), signal.SIGKILL)
                LandingZone.write = write
    return landed


LandingZone.write = write_and_kill_the_server
run_as_command(reproduce_study)
"""
"""The study, whose model server is killed with the first episodes that land."""


@pytest.fixture
def evaluate(monkeypatch):
    """Evaluate no cell with a server that dies so often; return how often it was started."""

    def play(deaths, *, while_loading=False):
        starts = []
        error = DeadServerError("server ended with status -9: python\nlast lines of its log")

        @contextmanager
        def serve(*_arguments, **_options):
            starts.append(1)
            if while_loading and len(starts) <= deaths:
                raise error
            yield SimpleNamespace(base_url="http://127.0.0.1:9/v1")
            if len(starts) <= deaths:
                raise error

        module = "carryover.flows.evaluate_models"
        monkeypatch.setattr(f"{module}.serve_models", serve)
        for name in ("open_tokenizer", "collect_shards"):
            monkeypatch.setattr(f"{module}.{name}", lambda *_: None)
        monkeypatch.setattr(f"{module}.find_models", lambda *_: MODELS)
        monkeypatch.setattr(f"{module}.is_collected", lambda *_: False)
        run = Run(run_id="r", plan=PLAN, home=Path("/data"), landing="/data/landing", generation="g")
        evaluate_part(run, PLAN.parts[0])
        return len(starts)

    return play


@pytest.mark.parametrize("while_loading", [False, True])
def test_dead_server_is_restarted_and_reported(evaluate, capsys, while_loading):
    assert evaluate(deaths=0) == 1
    assert evaluate(deaths=2, while_loading=while_loading) == SERVER_STARTS == 3
    said = " ".join(capsys.readouterr().err.split())
    assert said.count("server ended with status -9: python; starting it again") == 2


def test_a_server_that_dies_every_time_ends_the_evaluation(evaluate):
    with pytest.raises(DeadServerError, match="last lines of its log"):
        evaluate(deaths=3)


@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_killed_model_server_leaves_every_episode_once(smoke_study, prefect_api, tmp_path):
    home = copytree(smoke_study.home, tmp_path / "data")
    study = start_python(home, "-c", KILLING_STUDY, *STUDY[:-1], "4", server=prefect_api)
    _, said = study.communicate()
    assert study.returncode == 0, said[-8000:]
    assert len(re.findall("server ended with status .*; starting it again", " ".join(said.split()))) == 1
    ended = (
        LandingZone(home / "landing")
        .scan("episodes")
        .filter((pl.col("purpose") == "evaluation") & (pl.col("finish_reason") != "error"))
    )
    counts = ended.group_by("model_name", "runtime_contract", "instance_id").len().collect()
    assert counts["len"].to_list() == [1] * (10 * 4)


BASE = StudyModel(name="base", kind="base", path="/models/base", identity="base")
TRAINED = [
    StudyModel(name=name, kind="checkpoint", path=f"/models/{name}", identity=name, train_contract=contract)
    for name, contract in (("persistent-0", "persistent"), ("stateless-0", "stateless"))
]
MODELS = [BASE, *TRAINED]


@pytest.fixture
def played(steps, monkeypatch):
    """Evaluate the plan's part with other steps than its own; return the steps' calls."""

    def play(part=PLAN.parts[0], *, landed=(), refresh=(), **settings):
        monkeypatch.setattr(flow_module, "is_collected", lambda _run, shard: shard.condition.model_name in landed)
        calls = steps(
            flow_module,
            open_tokenizer="tokenizer",
            find_models=MODELS,
            serve_models=lambda *_, **__: nullcontext(SimpleNamespace(base_url="http://127.0.0.1:9/v1")),
            collect_shards=None,
        )
        limits = Limits(refresh=refresh)
        run = Run(run_id="r", plan=PLAN, home=Path("/data"), landing="/data/landing", generation="g", limits=limits)
        evaluate_part(run, part, **settings)
        return calls

    return play


def cells(shards):
    return [(each.condition.model_name, each.condition.runtime_contract, each.condition.variant) for each in shards]


def test_every_model_is_served_and_evaluated_under_every_contract(played):
    _, found, served, collected = played()
    assert found[2:] == (PLAN.parts[0], "tokenizer")
    _, part, models, options = served[1:]
    assert (part, models) == (PLAN.parts[0], MODELS)
    assert options == {"tell": flow_module.warn, "cells": ALL_CELLS, "serving": PLAN.serving}
    assert cells(collected[2]) == [
        (model.name, contract, "main") for model in MODELS for contract in ("persistent", "stateless")
    ]
    (address,) = {shard.client.endpoint.base_url for shard in collected[2]}
    assert address == "http://127.0.0.1:9/v1"


LANDED = [model.name for model in MODELS]


def test_models_whose_every_episode_has_landed_are_not_served(played):
    """Their episodes are noted all the same, as those that the plan has and reuses."""
    *_, found, collected = played(landed=LANDED)
    assert (found[0], collected[0]) == ("find_models", "collect_shards")
    assert len(cells(collected[2])) == 6


@pytest.mark.parametrize("reason", [{"landed": LANDED[1:]}, {"landed": LANDED, "refresh": ("evaluation",)}])
def test_models_are_served_as_long_as_an_episode_is_to_be_played(played, reason):
    assert "serve_models" in [name for name, *_ in played(**reason)]


def test_a_chosen_cell_alone_is_served_and_evaluated(played):
    chosen = ChosenCells(model="stateless-0", runtime_contract="persistent", is_cross_evaluation=True)
    *_, served, collected = played(chosen=chosen)
    assert served[3] == [BASE, TRAINED[1]]
    assert served[4]["cells"] == chosen
    assert cells(collected[2]) == [("stateless-0", "persistent", "main")]


def test_a_night_plays_in_its_own_series(played):
    night = NightObject(seeds=2)
    *_, collected = played(night=night)
    assert {variant for _, _, variant in cells(collected[2])} == {"reevaluation-seeds-2"}
    assert {shard.first_replicate for shard in collected[2]} == {2 * collected[2][0].replicates}


def test_a_nights_endpoint_is_the_only_model(played):
    night = NightObject(endpoint_url="http://127.0.0.1:8/v1", endpoint_model="m", endpoint_key_variable="KEY")
    served, collected = played(night.part(PLAN.parts[0]), night=night)
    assert served[3] == [night.model()]
    assert served[4]["serving"] == night.serving(PLAN.serving)
    assert {model for model, _, _ in cells(collected[2])} == {"m"}
    assert {(shard.client.endpoint.api_key_variable, shard.is_billed) for shard in collected[2]} == {("KEY", True)}


def test_every_part_of_a_plan_is_evaluated(steps, own_home):
    calls = steps(flow_module, evaluate_part=None)
    evaluate_models.fn("smoke_rl")
    assert [call[2] for call in calls] == list(resolve_plan("smoke_rl").parts)
