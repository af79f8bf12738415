"""User errors are one line in Prefect, and parameters that contradict each other are refused."""

import logging

import pytest
from prefect.exceptions import FailedRun, ParameterTypeError
from prefect.utilities.callables import parameter_schema
from prefect.utilities.schema_tools.validation import ValidationError, validate

from carryover.flows.prefect_flow import keep_to_a_line
from carryover.flows.reevaluate_model import reevaluate_model
from carryover.flows.reproduce_study import reproduce_study
from carryover.tasks.services.errors import UserError


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
