"""The study through Prefect's API: a local server, workers on both pools, training on the one with the GPUs."""

import json
import re
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import httpx
import pytest
import yaml
from prefect.flows import load_flow_from_entrypoint
from prefect.utilities.callables import parameter_schema

from carryover.flows import prefect_flow
from carryover.flows.cli.command import run_as_command
from carryover.flows.prefect_flow import name_run
from carryover.flows.reproduce_study import reproduce_study
from carryover.storage.warehouse.reader import Warehouse
from tests.flows.deploying import deploy, prefect, wait_until, worker
from tests.flows.flow_process import ROOT

COUNT_OVERRIDES = {"train_count": 12, "evaluation_count": 2}
COUNTS = ("--train-count", "12", "--evaluation-count", "2")
ANSWER_SECONDS = 120.0
FINAL_STATES = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")
FLOW = re.compile(r"^@(stage_)?flow\(", re.MULTILINE)
DECLARED = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text())["deployments"]


def test_every_flow_is_deployed_with_pool_and_description():
    entrypoints = {one["entrypoint"].rpartition(".")[0] for one in DECLARED}
    flows = {f"carryover.flows.{file.stem}" for file in (ROOT / "flows").glob("*.py") if FLOW.search(file.read_text())}
    assert entrypoints == flows
    assert all(one["description"] and one["work_pool"]["name"] in ("cpu", "gpu") for one in DECLARED)
    assert {one["name"] for one in DECLARED if one["work_pool"]["name"] == "gpu"} == {"training"}


def test_a_model_is_evaluated_again_every_night():
    (scheduled,) = (one for one in DECLARED if one.get("schedules"))
    assert scheduled["entrypoint"] == "carryover.flows.reevaluate_model.reevaluate_model"
    assert scheduled["schedules"] == [{"cron": "0 3 * * *", "timezone": "UTC", "active": True}]


def test_runs_that_share_or_pay_wait_for_each_other():
    limits = {one["name"]: one["concurrency_limit"] for one in DECLARED if "concurrency_limit" in one}
    assert set(limits) == {"study", "traces", "nightly-reevaluation"}
    assert all(limit == {"limit": 1, "collision_strategy": "ENQUEUE"} for limit in limits.values())


def fields_of(schema):
    """Every field of a form that Prefect builds from a schema: name and description, the flow's objects unfolded."""
    for name, field in schema["properties"].items():
        if "$ref" in field:
            kind = schema["definitions"][field["$ref"].rsplit("/", 1)[1]]
            yield from ((inner, described["description"]) for inner, described in kind["properties"].items())
        else:
            yield name, field["description"]


def check_help_shows(flow, schema, capsys):
    """Assert that the help of a flow's command has one option per field of a deployment's form, and no other."""
    with pytest.raises(SystemExit):
        run_as_command(flow, ["--help"])
    text = capsys.readouterr().out
    fields = dict(fields_of(schema))
    of_commands_alone = {"help", "home", "config"}  # a worker has a data folder of its own
    options = set(re.findall(r"^  --([a-z-]+)", text, flags=re.MULTILINE)) - of_commands_alone
    assert options == {name.replace("_", "-") for name in fields}
    squeezed = "".join(text.split())
    assert [name for name, description in fields.items() if "".join(description.split()) not in squeezed] == []


@pytest.mark.parametrize("entry", DECLARED, ids=lambda entry: entry["name"])
def test_help_of_a_flow_shows_its_deployment_form(entry, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    flow = load_flow_from_entrypoint(entry["entrypoint"])
    flow.validate_parameters(entry.get("parameters", {}))
    check_help_shows(flow, parameter_schema(flow).model_dump_for_openapi(), capsys)


def test_flow_names_its_runs_and_its_stage():
    for entry in DECLARED:
        module, _, name = entry["entrypoint"].rpartition(".")
        flow = getattr(import_module(module), name)
        assert flow.flow_run_name is name_run
        assert flow.fn.__code__.co_filename == prefect_flow.__file__


def state_of(environment, flow_run_id):
    url = f"{environment['PREFECT_API_URL']}/flow_runs/{flow_run_id}"
    return httpx.get(url, timeout=ANSWER_SECONDS).json()["state"]["type"]


def interrupt_while_the_pool_trains(environment, gpu, log):
    """Start the smoke study from a keyboard, press Ctrl-C while the worker trains, and return the training's id."""
    wait_until(lambda: "started!" in log.read_text(), gpu)
    options = ("--scale", "smoke", *COUNTS, "--train-on", "gpu_pool")
    command = [sys.executable, "-m", "carryover.flows.cli.start", "run", *options]
    study = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    models = Path(environment["CARRYOVER_HOME"]) / "models"
    wait_until(lambda: study.poll() is not None or list(models.glob("*/training_job.json")), gpu)
    study.send_signal(signal.SIGINT)
    _, said = study.communicate()
    assert study.returncode == 130, said
    assert "the training on the work pool 'gpu' is cancelled" in " ".join(said.split())
    return re.findall("submitting flow run '([0-9a-f-]+)'", log.read_text())[-1]


@pytest.mark.long
@pytest.mark.prefect
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_smoke_study_and_ctrl_c_work_through_the_api(scheduling_server, tmp_path, capsys):
    server = scheduling_server
    deploy(server)
    automations = httpx.post(f"{server['PREFECT_API_URL']}/automations/filter", json={}, timeout=ANSWER_SECONDS)
    assert {each["name"] for each in automations.json()} == {
        "carryover-regression", "carryover-missed-night", "carryover-zombies",
    }  # fmt: skip
    deployed = json.loads(prefect(server, "deployment", "inspect", "reproduce-study/study", "--output", "json"))
    check_help_shows(reproduce_study, deployed["parameter_openapi_schema"], capsys)
    parameters = {"scale": "smoke", "overrides": COUNT_OVERRIDES, "train_on": "gpu_pool"}
    with worker(server, "gpu", tmp_path / "gpu.log") as gpu, worker(server, "cpu", tmp_path / "cpu.log") as cpu:
        training = interrupt_while_the_pool_trains(server, gpu, tmp_path / "gpu.log")
        wait_until(lambda: state_of(server, training) in FINAL_STATES, gpu)
        assert state_of(server, training) == "CANCELLED"

        run = prefect(server, "deployment", "run", "reproduce-study/study", "--params", json.dumps(parameters))
        flow_run_id = next(word for word in run.split() if word.count("-") == 4 and len(word) == 36)
        wait_until(lambda: state_of(server, flow_run_id) in FINAL_STATES, cpu, gpu)
        state = state_of(server, flow_run_id)
        logs = (tmp_path / "cpu.log").read_text() + (tmp_path / "gpu.log").read_text()
        assert state == "COMPLETED", logs[-8000:]
        assert "nanobind" not in logs
        url = f"{server['PREFECT_API_URL']}/flow_runs/{flow_run_id}"
        assert re.fullmatch("smoke-[0-9a-f]{4}", httpx.get(url, timeout=ANSWER_SECONDS).json()["name"])
        trained = httpx.post(
            f"{server['PREFECT_API_URL']}/flow_runs/filter",
            json={"flows": {"name": {"any_": ["train-models"]}}, "sort": "START_TIME_DESC"},
            timeout=ANSWER_SECONDS,
        ).json()[0]
        assert trained["parameters"]["run_id"]
        assert "overrides" not in trained["parameters"]
    with Warehouse.open(tmp_path / "data" / "warehouse.duckdb") as warehouse:
        episodes = dict(warehouse.sql("select purpose, count(*) from episodes group by purpose").rows())
        trainings = warehouse.sql("select contract from training_runs order by contract").rows()
    assert episodes == {"teacher": 24, "evaluation": 20}
    assert trainings == [("persistent",), ("stateless",)]
    assert "train-models" in (tmp_path / "gpu.log").read_text()
