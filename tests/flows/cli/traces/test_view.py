"""`carryover view`: the warehouse's pages, served."""

import socket
import subprocess
import sys
import webbrowser
from types import SimpleNamespace

import httpx
import pytest

from carryover.flows.cli.traces import view
from carryover.flows.cli.traces.view import viewer_url, warehouse_answer
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer import bundle
from tests.flows.cli.calling import refused, run
from tests.tasks.viewer.viewer_home import make_viewer_home


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return make_viewer_home(tmp_path_factory.mktemp("view"))


@pytest.fixture
def answer(home):
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        yield warehouse_answer(warehouse, "plan")


def test_pages_are_of_the_default_plan(answer):
    assert answer("study", None, None)["plan_digest"] == "plan"
    assert answer("where", None, "score < 1")["episode_ids"] == ["ps1", "ps2"]


def test_a_wrong_condition_is_the_user_s_error(answer):
    with pytest.raises(UserError, match="scor"):
        answer("where", None, "scor < 1")


def test_an_unknown_plan_is_refused(answer):
    with pytest.raises(UserError, match="no run of plan 'other'"):
        answer("study", "other", None)


@pytest.mark.parametrize(
    ("host", "token", "url"),
    [
        ("127.0.0.1", None, "http://127.0.0.1:8/"),
        ("::1", None, "http://[::1]:8/"),
        ("0.0.0.0", "secret", "http://0.0.0.0:8/?token=secret"),
    ],
)
def test_the_printed_address_is_a_url(host, token, url):
    assert viewer_url(host, 8, token) == url
    assert httpx.URL(url).port == 8


def test_a_taken_port_is_refused(home):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, line = refused("view", "--home", home, "--port", port, "--no-open")
    assert (code, line) == (1, f"cannot listen at 127.0.0.1:{port} (Address already in use); choose another --port")


class Stopped:
    """A web server that is stopped at once, and what it listened on."""

    def __init__(self, config):
        self.config = config

    def run(self, sockets):
        (listening,) = sockets
        self.config.append((listening.family, listening.getsockname()[:2]))
        listening.close()


@pytest.fixture
def started(monkeypatch):
    """What servers were started with: pages, sockets and timers of a browser."""
    started = SimpleNamespace(apps=[], listened=[], timers=[])
    monkeypatch.setattr(view, "viewer_app", lambda answer, token: started.apps.append((answer, token)))
    monkeypatch.setattr(view.uvicorn, "Config", lambda app, **settings: started.listened)
    monkeypatch.setattr(view.uvicorn, "Server", Stopped)
    timer = SimpleNamespace(Timer=lambda *given: SimpleNamespace(start=lambda: started.timers.append(given)))
    monkeypatch.setattr(view, "threading", timer)
    return started


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6), ("0.0.0.0", socket.AF_INET)]
)
def test_a_server_beyond_this_machine_has_a_token(home, started, capsys, host, family):
    is_local = host != "0.0.0.0"
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        view.serve_viewer(warehouse, "plan", host=host, port=0, opens=is_local)
        ((answer, token),) = started.apps
        assert answer("study", None, None)["plan_digest"] == "plan"
        assert len(answer("where", None, None)["episode_ids"]) == 8
    ((of_family, (address, port)),) = started.listened
    assert (of_family, address) == (family, host)
    assert (token is None) == is_local
    url = viewer_url(host, port, token)
    assert capsys.readouterr().out == f"viewer at {url}; Ctrl-C stops it\n"
    assert started.timers == ([(0.5, webbrowser.open, [url])] if is_local else [])


def test_what_one_file_does_not_hold_is_said_to_be_a_folder(home, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_EPISODES", 7)
    said = run("view", "--home", home, "--plan", "plan", "--out", tmp_path / "study.html")
    assert said.startswith(f"8 episodes in {tmp_path / 'study' / 'index.html'}; a folder, since one file holds")
    assert run("view", "--home", home, "--plan", "plan", "--out", tmp_path / "named").endswith("named/index.html\n")


def test_the_command_serves_until_it_is_stopped(home):
    command = [sys.executable, "-m", "carryover.flows.cli.start", "view", "--home", str(home), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[2].rstrip(";")
        try:
            study = httpx.get(f"{url}api/study", trust_env=False, timeout=60).json()
        finally:
            process.terminate()
    assert url.startswith("http://127.0.0.1:")
    assert study["plan_name"] == "laptop"
