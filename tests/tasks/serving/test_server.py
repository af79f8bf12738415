"""The whole way: from a spec to a server process of its own that answers, and back to nothing."""

import socket
import sys
from importlib import metadata
from types import SimpleNamespace

import httpx
import openai
import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.serving import process
from carryover.tasks.serving import server as server_module
from carryover.tasks.serving.ask import ask
from carryover.tasks.serving.process import DeadServerError, ManagedProcess, ServerError
from carryover.tasks.serving.server import open_server, vllm_program
from carryover.tasks.serving.serving_spec import ServedModels, ServingSpec


@pytest.fixture(scope="module")
def running(tmp_path_factory, base_path, adapter_path, other_path):
    models = ServedModels(
        base=str(base_path), adapters={"adapter": adapter_path}, checkpoints={"checkpoint": other_path}
    )
    spec = ServingSpec(context_tokens=512, max_concurrent=8, cache_bytes=2**26)
    with open_server(spec, models, tmp_path_factory.mktemp("logs") / "server.log") as server:
        yield server


def test_a_served_model_answers_and_names_are_listed(running):
    assert running.model_names == ("base", "adapter", "checkpoint")
    with openai.OpenAI(base_url=running.base_url, api_key="none", max_retries=0) as client:
        completion = client.chat.completions.create(
            model="adapter", messages=[{"role": "user", "content": "Hello"}], max_completion_tokens=5, seed=1
        )
    assert completion.usage is not None
    assert 1 <= completion.usage.completion_tokens <= 5
    assert "loaded base, adapter, checkpoint; context of 512 tokens" in running.log_path.read_text()


def test_a_running_server_is_an_external_one_for_others(running, tmp_path):
    spec = ServingSpec(engine="external", url=running.base_url)
    with open_server(spec, ServedModels(base="anything"), tmp_path / "log") as server:
        assert server.base_url == running.base_url
        assert server.command == ()
        assert server.version == running.version == f"carryover {metadata.version('carryover')}"


def test_an_endpoints_version_has_a_longer_timeout_than_a_probe(running, tmp_path, monkeypatch):
    assert ask.__kwdefaults__ is not None
    monkeypatch.setitem(ask.__kwdefaults__, "timeout_seconds", 0.0)
    spec = ServingSpec(engine="external", url=running.base_url)
    with open_server(spec, ServedModels(base="anything"), tmp_path / "log") as server:
        assert server.version == running.version


def test_an_external_endpoint_must_have_the_models(running, tmp_path):
    spec = ServingSpec(engine="external", url=running.base_url)
    models = ServedModels(base="anything", base_name="Qwen/Qwen3-8B")
    expected = r"serves base, adapter, checkpoint, but not Qwen/Qwen3-8B; serve each under its name"
    with pytest.raises(ServerError, match=expected), open_server(spec, models, tmp_path / "log"):
        pass


def test_an_external_endpoint_that_is_not_there_is_named(tmp_path):
    spec = ServingSpec(engine="external", url="http://127.0.0.1:9/v1")
    expected = r"http://127\.0\.0\.1:9/v1/models does not answer \(Connection refused\)"
    with pytest.raises(ServerError, match=expected), open_server(spec, ServedModels(base="m"), tmp_path / "log"):
        pass


def test_vllm_that_is_not_installed_says_what_to_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    spec = ServingSpec(engine="vllm")
    with (
        pytest.raises(ServerError, match=r"vllm is not installed; run `sh deployments/install_vllm\.sh`"),
        open_server(spec, ServedModels(base="m"), tmp_path / "log"),
    ):
        pass


def test_vllm_beside_our_python_precedes_the_one_on_path(tmp_path, monkeypatch):
    for folder in ("ours", "path"):
        (tmp_path / folder).mkdir()
        program = tmp_path / folder / "vllm"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "ours" / "python"))
    assert vllm_program() == str(tmp_path / "ours" / "vllm")
    (tmp_path / "ours" / "vllm").unlink()
    assert vllm_program() == str(tmp_path / "path" / "vllm")


@pytest.mark.parametrize(("revision", "base"), [(None, "hub/m"), ("abc", "hub/m at abc")])
def test_adapters_and_their_bases_revision_share_a_template(tmp_path, monkeypatch, revision, base):
    (tmp_path / "vllm").touch(0o755)
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "chat_template.jinja").write_text("trained")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(server_module, "fetch_tokenizer", lambda name, revision: f"{name} at {revision}")
    monkeypatch.setattr(server_module, "load_tokenizer", lambda name: SimpleNamespace(chat_template=f"of {name}"))
    models = ServedModels(base="hub/m", base_revision=revision, adapters={"a": tmp_path / "adapter"})
    server_module.server_command(
        ServingSpec(engine="vllm"), models, host="127.0.0.1", port=1, make_folder=lambda: tmp_path
    )
    (either,) = tmp_path.glob("*.jinja")
    assert either.read_text() == f"{{%- if is_base -%}}of {base}{{%- else -%}}trained{{%- endif -%}}"


MORTAL_SERVER = """#!{python}
import http.server, json, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path in ("/die", os.environ.get("DIES_AT")):
            print("out of memory", flush=True)
            os._exit(7)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({{"data": [{{"id": "base"}}]}}).encode())

http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""


@pytest.fixture
def mortal_server(tmp_path, monkeypatch):
    (tmp_path / "vllm").write_text(MORTAL_SERVER.format(python=sys.executable))
    (tmp_path / "vllm").chmod(0o755)
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))


@pytest.mark.usefixtures("mortal_server")
def test_a_server_whose_port_was_taken_meanwhile_starts_on_another(tmp_path, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        ports = [taken.getsockname()[1], process.find_free_port()]
        monkeypatch.setattr(process, "find_free_port", iter(ports).__next__)
        with open_server(ServingSpec(engine="vllm"), ServedModels(base="m"), tmp_path / "log") as server:
            assert server.base_url == f"http://127.0.0.1:{ports[1]}/v1"
            assert str(ports[1]) in server.command


@pytest.mark.usefixtures("mortal_server")
def test_a_start_reports_the_last_line_of_the_log(tmp_path, monkeypatch):
    told, first, is_healthy = [], iter([False]), ManagedProcess.is_healthy
    monkeypatch.setattr(ManagedProcess, "is_healthy", lambda process: next(first, True) and is_healthy(process))
    with open_server(ServingSpec(engine="vllm"), ServedModels(base="m"), tmp_path / "log", tell=told.append):
        pass
    assert told
    assert set(told) <= {"", *(tmp_path / "log").read_text().splitlines()}


@pytest.mark.usefixtures("mortal_server")
def test_a_server_that_dies_in_use_reports_its_last_lines(tmp_path):
    with (
        pytest.raises(ServerError, match=r"(?s)server ended with status 7: .*out of memory"),
        open_server(ServingSpec(engine="vllm"), ServedModels(base="m"), tmp_path / "log") as server,
        pytest.raises(httpx.HTTPError),
    ):
        httpx.get(server.base_url.replace("/v1", "/die"), timeout=30)


@pytest.mark.usefixtures("mortal_server")
def test_a_server_that_dies_before_its_first_use_counts_as_dead(tmp_path, monkeypatch):
    monkeypatch.setenv("DIES_AT", "/v1/models")
    with (
        pytest.raises(DeadServerError, match="server ended with status 7"),
        open_server(ServingSpec(engine="vllm"), ServedModels(base="m"), tmp_path / "log"),
    ):
        raise AssertionError("it is not ready")


def fail_at_the_death_of(server):
    with pytest.raises(httpx.HTTPError):
        httpx.get(server.base_url.replace("/v1", "/die"), timeout=30)
    raise UserError("10 episodes in a row failed")


@pytest.mark.usefixtures("mortal_server")
def test_a_failure_behind_a_dead_server_reports_its_death(tmp_path):
    with (
        pytest.raises(DeadServerError, match=r"(?s)server ended with status 7: .*out of memory"),
        open_server(ServingSpec(engine="vllm"), ServedModels(base="m"), tmp_path / "log") as server,
    ):
        fail_at_the_death_of(server)


@pytest.mark.usefixtures("mortal_server")
def test_a_failure_beside_a_living_server_stays_unchanged(tmp_path):
    with (
        pytest.raises(UserError, match="the run is interrupted"),
        open_server(ServingSpec(engine="vllm"), ServedModels(base="m"), tmp_path / "log"),
    ):
        raise UserError("the run is interrupted")
