import pytest

from carryover.flows.train_models import train_models
from carryover.tasks.services.errors import UserError


def test_missing_data_are_said_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    with pytest.raises(
        UserError, match=r"no training data of plan laptop in .*; run `carryover stage prepare-training` first"
    ):
        train_models.fn(scale="laptop")
    assert not (tmp_path / "datasets").exists()
    assert not (tmp_path / "models").exists()
