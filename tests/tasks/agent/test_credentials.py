import pytest
from pydantic import SecretStr

from carryover.tasks.agent.credentials import read_key
from carryover.tasks.services.errors import UserError


def test_a_key_is_read_from_its_variable(monkeypatch):
    monkeypatch.setenv("CARRYOVER_TEST_KEY", " sk-secret \n")

    assert read_key("CARRYOVER_TEST_KEY") == SecretStr("sk-secret")


def test_an_empty_variable_is_as_good_as_none(monkeypatch):
    monkeypatch.setenv("CARRYOVER_TEST_KEY", " ")

    with pytest.raises(UserError, match=r"missing API key: .* CARRYOVER_TEST_KEY is not set; export it"):
        read_key("CARRYOVER_TEST_KEY")


def test_no_representation_shows_the_key(monkeypatch):
    monkeypatch.setenv("CARRYOVER_TEST_KEY", "sk-secret")
    key = read_key("CARRYOVER_TEST_KEY")

    assert "sk-secret" not in f"{key} {key!r}"
