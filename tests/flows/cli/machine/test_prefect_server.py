import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, PREFECT_HOME, temporary_settings

from carryover.flows.cli.machine import prefect_server as module
from carryover.flows.cli.machine.prefect_server import own_server, prefect_server, unavailable_server
from carryover.flows.gpu_pool import gpu_pool_lacks
from carryover.tasks.services.errors import UserError
from carryover.tasks.serving import process

NOBODY = "http://127.0.0.1:9/api"
"""An address at which nothing listens."""
HEALTHY_SERVER = """
import http.server, os, sys
print("password", os.environ.get("PREFECT_SERVER_API_AUTH_STRING"), flush=True)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""


def test_silent_configured_server_is_named_with_the_way_out():
    message = rf"^no answer from the Prefect server {NOBODY} .*; start it, or unset PREFECT_API_URL"
    with temporary_settings({PREFECT_API_URL: NOBODY}), pytest.raises(UserError, match=message), prefect_server():
        raise AssertionError("nothing may run")


@pytest.fixture
def locked_server():
    """The address of a server that tells everyone its health, and the rest for `me:secret`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            is_allowed = self.path == "/api/health" or self.headers["authorization"] == "Basic bWU6c2VjcmV0"
            self.send_response(200 if is_allowed else 401)
            self.send_header("content-length", "6")
            self.end_headers()
            self.wfile.write(b'"true"')

        def log_message(self, format, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api"
    server.shutdown()
    server.server_close()


def test_server_with_a_password_is_named_with_the_variable(locked_server):
    with temporary_settings({PREFECT_API_URL: locked_server}):
        assert unavailable_server() == (
            f"the Prefect server {locked_server} asks for a password: export PREFECT_API_AUTH_STRING=user:password"
        )
        with temporary_settings({PREFECT_API_AUTH_STRING: "me:secret"}):
            assert unavailable_server() is None


def test_an_unconfigured_server_is_named_with_what_to_export():
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        lack = unavailable_server() or ""
    assert lack.startswith("no Prefect server is configured")
    assert lack.endswith("export PREFECT_API_URL=http://127.0.0.1:4200/api")


def test_training_on_the_gpu_pool_needs_a_responsive_server():
    with temporary_settings({PREFECT_API_URL: NOBODY}):
        assert (gpu_pool_lacks() or "").startswith(f"an answer from the Prefect server {NOBODY}")
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        assert gpu_pool_lacks() == "a Prefect server with a work pool 'gpu' (name it with PREFECT_API_URL)"


class Started:
    """A server that has started, in place of a process."""

    def __init__(self):
        self.is_running = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_running = False


@pytest.fixture
def starts(monkeypatch):
    """What servers were started with; each answers at once, at port 4321."""
    calls = []

    def start(build, timeout_seconds, tell):
        monkeypatch.setattr(module, "ManagedProcess", lambda *given, **settings: (given, settings))
        started = Started()
        calls.append((build(4321), timeout_seconds, started))
        return started, 4321

    monkeypatch.setattr(module, "start_on_free_port", start)
    return calls


def test_a_run_without_a_server_has_one_of_its_own_meanwhile(tmp_path, monkeypatch, starts):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_SERVER_API_AUTH_STRING", "me:secret")
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        with prefect_server():
            address, home = PREFECT_API_URL.value(), PREFECT_HOME.value()
            (((command, log), settings), timeout_seconds, server) = starts[0]
            assert server.is_running
        assert PREFECT_API_URL.value() is None
    assert not server.is_running
    assert (address, home) == ("http://127.0.0.1:4321/api", tmp_path / "prefect")
    assert timeout_seconds == 600.0
    assert command == [
        sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", "4321", "--no-services",
        "--no-ui",
    ]  # fmt: skip
    assert log == tmp_path / "logs" / "prefect-server.log"
    environment = settings.pop("environment")
    assert settings == {"health_url": "http://127.0.0.1:4321/api/health"}
    assert "PREFECT_SERVER_API_AUTH_STRING" not in environment
    quiet = {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "PREFECT_UI_ENABLED": "false"}
    own = quiet | {"PREFECT_HOME": str(tmp_path / "prefect")}
    assert {name: environment[name] for name in own} == own
    assert environment["CARRYOVER_HOME"] == str(tmp_path)


def test_a_server_whose_port_was_taken_meanwhile_starts_on_another(tmp_path, monkeypatch):
    (tmp_path / "prefect.py").write_text(HEALTHY_SERVER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        ports = [taken.getsockname()[1], process.find_free_port()]
        monkeypatch.setattr(process, "find_free_port", iter(ports).__next__)
        with own_server(tmp_path / "home", tmp_path / "log") as address:
            assert address == f"http://127.0.0.1:{ports[1]}/api"


def test_a_servers_password_is_not_of_the_runs_own_server(tmp_path, monkeypatch):
    (tmp_path / "prefect.py").write_text(HEALTHY_SERVER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PREFECT_SERVER_API_AUTH_STRING", "me:secret")
    with own_server(tmp_path / "home", tmp_path / "log"):
        assert "password None" in (tmp_path / "log").read_text()
