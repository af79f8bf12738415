import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

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
