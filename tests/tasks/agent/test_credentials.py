import pytest
from pydantic import SecretStr

from carryover.tasks.agent import credentials
from carryover.tasks.agent.credentials import find_key, hold_key, place_of_key, read_key
from carryover.tasks.services.errors import UserError


def test_a_key_is_read_from_its_variable(monkeypatch):
    monkeypatch.setenv("CARRYOVER_TEST_KEY", " sk-secret \n")

    assert read_key("CARRYOVER_TEST_KEY") == SecretStr("sk-secret")


def test_a_held_key_goes_before_the_environment(monkeypatch):
    monkeypatch.setattr(credentials, "_held", {})
    monkeypatch.setenv("secret/teacher", "sk-variable")
    assert find_key("secret/teacher") == "sk-variable"
    hold_key("secret/teacher", "sk-held\n")
    assert find_key("secret/teacher") == "sk-held"


@pytest.mark.parametrize(
    ("name", "place"), [("secret/teacher", "Secret block"), ("CARRYOVER_TEST_KEY", "environment variable")]
)
def test_an_empty_key_is_as_good_as_none(monkeypatch, name, place):
    monkeypatch.setenv(name, " ")

    assert place_of_key(name) == f"the {place} {name}"
    with pytest.raises(UserError) as refused:
        read_key(name)
    assert str(refused.value) == f"missing API key: the {place} {name} is not set; export it"


def test_no_name_is_no_key():
    assert read_key(None) is None


def test_no_representation_shows_the_key(monkeypatch):
    monkeypatch.setenv("CARRYOVER_TEST_KEY", "sk-secret")
    key = read_key("CARRYOVER_TEST_KEY")

    assert "sk-secret" not in f"{key} {key!r}"
