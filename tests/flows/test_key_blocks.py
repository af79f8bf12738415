"""Keys of endpoints in Prefect's Secret blocks: the endpoint gets the key, and nothing that is kept shows it."""

import json
from types import SimpleNamespace

import pytest
from prefect.blocks.system import Secret
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings
from pydantic import SecretStr

from carryover.flows import key_blocks
from carryover.flows.collect_traces import collect_traces
from carryover.flows.generate_instances import generate_instances
from carryover.flows.key_blocks import load_keys
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.credentials import read_key
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.services.errors import UserError
from tests.flows.teacher_endpoint import MODEL, TeacherEndpoint, serve_teacher

KEY = "sk-a-key-of-a-block"


def named(name="secret/teacher", url="http://127.0.0.1:9/v1"):
    return Overrides(train_count=2, teacher_url=url, teacher_model=MODEL, teacher_key_variable=name)


def test_a_block_without_a_server_is_refused():
    with temporary_settings({PREFECT_API_URL: None}), pytest.raises(UserError, match="secret/teacher; no Prefect"):
        load_keys(named())


def test_an_environment_variable_needs_no_server():
    with temporary_settings({PREFECT_API_URL: None}):
        load_keys(named("TEACHER_KEY"), None, 3)


@pytest.fixture
def server(prefect_api, tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with temporary_settings({PREFECT_API_URL: prefect_api, PREFECT_HOME: tmp_path / "prefect"}):
        yield prefect_api


@pytest.mark.prefect
@pytest.mark.slow
def test_a_missing_block_is_named(server):
    with pytest.raises(UserError, match="unknown Secret block secret/nowhere; create it in Prefect's UI"):
        load_keys(named("secret/nowhere"))


def files_with(key, folder):
    return [file for file in folder.rglob("*") if file.is_file() and key.encode() in file.read_bytes()]


@pytest.mark.prefect
@pytest.mark.slow
def test_block_key_reaches_only_the_endpoint(server, tmp_path, tmp_path_factory, capfd):
    Secret(value=SecretStr(KEY)).save("teacher", overwrite=True, _sync=True)  # pyright: ignore[reportCallIssue]
    endpoint = TeacherEndpoint()
    with serve_teacher(endpoint):
        overrides = named(url=endpoint.base_url)
        generate_instances("smoke", overrides)
        collect_traces("smoke", overrides)
    assert read_key("secret/teacher") == SecretStr(KEY)
    assert {asked.authorization for asked in endpoint.asked} == {f"Bearer {KEY}"}

    with get_client(sync_client=True) as client:
        parameters = [json.dumps(run.parameters) for run in client.read_flow_runs()]
        shown = [parameters, client.read_logs(), client.read_artifacts()]
    assert any("secret/teacher" in text for text in parameters)
    said = capfd.readouterr()
    rows = [
        LandingZone(tmp_path / "data" / "landing").scan(table).collect().write_json() for table in ("turns", "runs")
    ]
    assert KEY not in f"{shown}{said.out}{said.err}{rows}"
    assert files_with(KEY, tmp_path_factory.getbasetemp()) == []  # the server's database among them


def test_every_named_block_is_loaded_once(monkeypatch):
    loaded = []

    def load(name, *, _sync):
        loaded.append((name, _sync))
        return SimpleNamespace(get=lambda: f"key of {name}")

    monkeypatch.setattr(key_blocks, "unavailable_server", lambda: None)
    monkeypatch.setattr(key_blocks, "Secret", SimpleNamespace(load=load))
    load_keys(named("secret/b"), None, "secret/c", named("secret/a"), named("secret/b"))
    assert loaded == [("a", True), ("b", True)]
    assert read_key("secret/a") == SecretStr("key of a")
    assert read_key("secret/b") == SecretStr("key of b")


def test_an_unknown_block_is_named_with_the_way_out(monkeypatch):
    def load(name, *, _sync):
        raise ValueError(name)

    monkeypatch.setattr(key_blocks, "unavailable_server", lambda: None)
    monkeypatch.setattr(key_blocks, "Secret", SimpleNamespace(load=load))
    with pytest.raises(UserError, match=r"^unknown Secret block secret/a; create it in Prefect's UI \(Blocks\)$"):
        load_keys(named("secret/a"))
