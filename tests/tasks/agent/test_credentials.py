import pytest

from carryover.tasks.agent.credentials import Credential, read_credential
from carryover.tasks.running.errors import UserError


def test_a_key_is_read_from_its_variable(monkeypatch):
    monkeypatch.setenv("CARRYOVER_TEST_KEY", " sk-secret \n")

    assert read_credential("CARRYOVER_TEST_KEY").reveal() == "sk-secret"


def test_an_empty_variable_is_as_good_as_none(monkeypatch):
    monkeypatch.setenv("CARRYOVER_TEST_KEY", " ")

    with pytest.raises(UserError, match="CARRYOVER_TEST_KEY, which is not set; export it"):
        read_credential("CARRYOVER_TEST_KEY")


def test_no_representation_shows_the_key():
    credential = Credential("sk-secret")

    assert "sk-secret" not in f"{credential} {credential!r}"
    assert credential.strike("the key sk-secret is wrong") == "the key [key] is wrong"


def test_an_endpoint_without_a_key_strikes_nothing():
    assert read_credential(None).strike("none of it") == "none of it"
