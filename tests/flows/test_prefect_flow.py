"""User errors are one line in Prefect, and parameters that contradict each other are refused."""

import logging
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from prefect.context import TagsContext
from prefect.exceptions import FailedRun, ParameterTypeError
from prefect.utilities.callables import parameter_schema
from prefect.utilities.schema_tools.validation import ValidationError, validate

from carryover.flows import prefect_flow
from carryover.flows.prefect_flow import add_tags, flow, keep_to_a_line, name_run
from carryover.flows.reevaluate_model import reevaluate_model
from carryover.flows.reproduce_study import reproduce_study
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import DEFAULT_PLAN
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.services.errors import UserError
from carryover.tasks.stages.runs import start_run


def record(error, message="Encountered exception during execution"):
    return logging.LogRecord("prefect.flow_runs", logging.ERROR, "", 0, message, None, (type(error), error, None))


@pytest.mark.parametrize("error", [UserError("no part"), ParameterTypeError("bad"), FailedRun("failed")])
def test_a_user_error_has_no_traceback(error):
    said = record(error)
    assert keep_to_a_line(said)
    assert said.exc_info is None
    assert not keep_to_a_line(record(error, "Engine execution exited with unexpected exception"))


def test_a_bug_keeps_its_traceback():
    said = record(ZeroDivisionError())
    assert keep_to_a_line(said)
    assert said.exc_info is not None
    assert keep_to_a_line(record(ZeroDivisionError(), "Engine execution exited with unexpected exception"))


def submit(flow, **parameters):
    """Hold parameters against a deployment's schema, as Prefect's API does when a run is created."""
    schema = parameter_schema(flow).model_dump_for_openapi()
    validate(parameters, schema, raise_on_error=True, ignore_required=False)


@pytest.mark.parametrize(
    ("flow", "parameters", "refusal"),
    [
        (
            reproduce_study,
            {"limits": {"max_cost": 5}},
            "field 'limits'. Failure reason: 'prices' is a required property",
        ),
        (
            reproduce_study,
            {"limits": {"max_cost": 5, "prices": {"prompt": 0}}},
            "field 'limits.prices.prompt'. Failure reason: 0 is less than or equal to the minimum of 0",
        ),
        (reproduce_study, {"overrides": {"parts": ["nope"]}}, "Failure reason: 'nope' is not one of ['main', "),
        (
            reproduce_study,
            {"overrides": {"endpoint_key_variable": "KEY"}},
            "field 'overrides'. Failure reason: 'endpoint_url' is a required property",
        ),
        (reproduce_study, {"scale": "nope"}, "field 'scale'. Failure reason: 'nope' is not one of ['smoke', "),
        (
            reevaluate_model,
            {"night": {"endpoint_model": "m"}},
            "field 'night'. Failure reason: 'endpoint_url' is a required property",
        ),
        (reevaluate_model, {"thresholds": {"alpha": 2}}, "field 'thresholds.alpha'"),
    ],
)
def test_contradictions_are_refused_when_a_run_is_submitted(flow, parameters, refusal):
    with pytest.raises(ValidationError) as refused:
        submit(flow, **parameters)
    assert refusal in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"limits": {"max_cost": None}},
        {"limits": {"max_cost": 5, "prices": {"completion": 3}}},
        {"overrides": {"parts": ["main"], "endpoint_url": "http://127.0.0.1:1/v1", "endpoint_key_variable": "KEY"}},
        {"overrides": {"parts": None, "endpoint_key_variable": None}},
    ],
)
def test_what_fits_together_is_submitted(parameters):
    submit(reproduce_study, scale="laptop_full", **parameters)


@pytest.fixture
def in_run(tmp_path, monkeypatch):
    """Stand in for the run that Prefect has opened: call it with the run's parameters and facts."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)

    def enter(parameters, **facts):
        run = SimpleNamespace(id=UUID(int=1), tags=["night"], deployment_id=None, parent_task_run_id=None)
        run.__dict__.update(facts)
        context = SimpleNamespace(parameters=parameters, flow_run=run)
        monkeypatch.setattr(prefect_flow, "FlowRunContext", SimpleNamespace(get=lambda: context))

    return enter


def name_of(plan):
    return f"{plan.name}-{plan.digest[:4]}"


def test_a_run_is_named_after_its_plan(in_run):
    few = Overrides(train_count=3)
    for parameters, plan in (
        ({"scale": "smoke", "overrides": few}, resolve_plan("smoke", few)),
        ({"scale": None, "overrides": few}, resolve_plan(DEFAULT_PLAN, few)),
        ({"plan": SuitePlan(case_seed=7)}, SuitePlan(case_seed=7)),
    ):
        in_run(parameters)
        assert name_run() == name_of(plan)


def test_a_run_without_a_plan_is_named_after_its_scale(in_run):
    in_run({"scale": "smoke"})  # no finished study
    assert name_run() == "smoke"
    in_run({"run_id": "nowhere", "scale": "laptop", "overrides": Overrides()})
    assert name_run() == "laptop"


def test_a_run_that_joins_is_named_after_the_landed_plan(in_run):
    changed = resolve_plan("smoke", Overrides(train_count=5))
    with start_run("generate_instances", changed, Limits()) as run:
        for name in ("run_id", "study_run"):
            in_run({name: run.run_id, "scale": "laptop", "overrides": Overrides()})
            assert name_run() == name_of(changed)


def test_a_night_is_named_after_the_study_it_judges(in_run):
    with start_run("reproduce_study", resolve_plan("smoke"), Limits()):
        pass
    in_run({"scale": "smoke"})
    assert name_run() == name_of(resolve_plan("smoke"))


@pytest.fixture
def told(monkeypatch):
    """What a flow tells the Prefect server, and the objects whose keys it loads."""
    told = []
    client = SimpleNamespace(update_flow_run=lambda run_id, tags: told.append((run_id, tags)))
    monkeypatch.setattr(prefect_flow, "get_client", lambda *, sync_client: nullcontext(client if sync_client else None))
    monkeypatch.setattr(prefect_flow, "load_keys", lambda *specs: told.append(specs))
    return told


def test_tags_are_added_to_those_that_a_run_has(in_run, told):
    in_run({})
    add_tags("stage:reevaluation")
    add_tags("verdict:identical")
    assert told[-1] == (UUID(int=1), ["night", "stage:reevaluation", "verdict:identical"])


def test_a_tag_replaces_those_of_its_kind(in_run, told):
    """A retry goes on in the same run, which bears the tags of its first try."""
    in_run({})
    add_tags("verdict:incomplete", "verdict:identical")
    add_tags("verdict:regression")
    assert told[-1] == (UUID(int=1), ["night", "verdict:regression"])


def test_no_run_has_no_tags(told):
    add_tags("stage:reevaluation")
    assert told == []


def play_here(scale, overrides, *, error=None):
    if error is not None:
        raise error
    return scale, sorted(TagsContext.get().current_tags)


def test_a_run_is_tagged_by_plan_and_stage(in_run, told):
    parameters = {"scale": "smoke", "overrides": Overrides()}
    plan = resolve_plan("smoke")
    in_run(parameters)
    played = flow("instances", tasks_at_once=5)(play_here)
    assert played.fn(**parameters) == ("smoke", [f"plan:{plan.digest}"])
    assert told == [
        (UUID(int=1), ["night", f"plan:{plan.digest}", "stage:instances"]),
        (plan, "smoke", Overrides()),
    ]
    assert played.name == "play-here"
    assert played.flow_run_name is name_run
    assert played.task_runner == prefect_flow.ThreadPoolTaskRunner(max_workers=5)


def test_a_run_without_a_plan_is_tagged_by_its_stage(in_run, told):
    in_run({"scale": "smoke"})
    assert flow("reevaluation")(play_here).fn("smoke", None) == ("smoke", [])
    assert told == [(UUID(int=1), ["night", "stage:reevaluation"]), (None, "smoke")]


def test_a_flow_called_outside_a_run_is_its_function(told):
    assert flow("instances")(play_here).fn("smoke", None) == ("smoke", [])
    assert told == []


def test_a_deployments_user_error_is_a_failed_state(in_run, told):
    parameters = {"scale": "smoke", "overrides": Overrides()}
    played = flow("instances")(play_here)
    error = UserError("no\n  part")

    in_run(parameters, deployment_id=UUID(int=2))
    state: Any = played.fn(**parameters, error=error)
    assert (state.type, state.message) == ("FAILED", "no part")
    for facts in ({}, {"deployment_id": UUID(int=2), "parent_task_run_id": UUID(int=3)}):
        in_run(parameters, **facts)
        with pytest.raises(UserError, match="no\n  part"):
            played.fn(**parameters, error=error)


def test_a_bug_in_a_deployment_is_raised(in_run, told):
    parameters = {"scale": "smoke", "overrides": Overrides()}
    in_run(parameters, deployment_id=UUID(int=2))
    with pytest.raises(ZeroDivisionError):
        flow("instances")(play_here).fn(**parameters, error=ZeroDivisionError())


def test_every_flow_keeps_user_errors_to_a_line():
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        assert keep_to_a_line in logging.getLogger(name).filters
