"""What tells comparisons apart."""

import pytest
from pydantic import ValidationError

from carryover.tasks.cave.arms import plan
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.cave.tracing import docstrings


def test_another_source_is_another_comparison(monkeypatch):
    before = SuitePlan().digest
    assert SuitePlan(suites=("types",), arms=("json",), replicates=1).digest == before
    monkeypatch.setattr(plan, "agents_source", lambda: "edited")
    assert SuitePlan().digest != before


def test_what_a_model_reads_of_a_function_counts(tmp_path):
    file = tmp_path / "suite.py"
    file.write_text('def heat(to):\n    """Heat to degrees Celsius."""\n')
    before = docstrings(tmp_path)
    file.write_text('def heat(to):\n    """Heat to degrees Fahrenheit."""  # a comment\n')
    assert docstrings(tmp_path) == ["Heat to degrees Fahrenheit."] != before


def test_trained_models_play_what_they_learnt():
    with pytest.raises(ValidationError, match="give --suites multi_variable --arms persistent_code,stateless_code"):
        SuitePlan(model="laptop", suites=("types",))
    trained = SuitePlan(model="laptop", suites=("multi_variable",), arms=("stateless_code",))
    assert (trained.scale, trained.is_trained) == ("laptop", True)
    assert trained.model_copy(update={"endpoint_url": "http://127.0.0.1:1/v1"}).digest == trained.digest
