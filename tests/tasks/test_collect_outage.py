"""An endpoint that is down, and money that is spent: neither uses up what it does not concern."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import EndpointClientSpec, ScriptedClientSpec
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.collect import FAILURES_IN_A_ROW, collect_episodes
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.shards import teacher_shards
from carryover.tasks.plans.study_plan import teacher_conditions
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.limits import LimitReachedError, Prices
from carryover.tasks.stages.runs import start_run
from carryover.tasks.stages.spending import close_meter
from tests.tasks.made import make_instances

COUNT = FAILURES_IN_A_ROW + 5
PLAN = resolve_plan("smoke", Overrides(train_count=COUNT))
(PART,) = PLAN.parts
PERSISTENT, _ = teacher_conditions(PART)
ANSWER = (
    b'{"id": "1", "object": "chat.completion", "created": 0, "model": "m", '
    b'"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", '
    b'"content": "Done.\\n```python\\nfinish()\\n```"}}], '
    b'"usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}'
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty data folder."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    return tmp_path / "data"


@contextmanager
def serve(*statuses):
    """Yield a client of an endpoint that answers with these statuses in turn, again and again."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            status = statuses[len(asked) % len(statuses)]
            asked.append(status)
            body = ANSWER if status == 200 else b'{"error": {"message": "no"}}'
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    yield EndpointClientSpec(endpoint=EndpointSpec(base_url=address, concurrency=1, max_retries=0))
    server.shutdown()
    server.server_close()


def collect(client, limits=Limits(), condition=PERSISTENT):  # noqa: B008 - frozen
    with start_run("toy", PLAN, limits) as run:
        shard = teacher_shards(run, PART, None)[0]
        make_instances(run, PART.train_instances)
        return collect_episodes.fn(run, shard.model_copy(update={"condition": condition, "client": client}))


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_down_endpoint_stops_the_run_after_few_episodes(home, status):
    with serve(status) as client, pytest.raises(UserError, match=rf"(?s)10 consecutive episodes.*HTTP {status}.*again"):
        collect(client)
    assert LandingZone(home / "landing").scan("episodes").collect().height == FAILURES_IN_A_ROW


def test_closed_meter_lets_a_run_resume_after_an_outage():
    with start_run("toy", PLAN, Limits()) as run:
        make_instances(run, PART.train_instances)
        shard = teacher_shards(run, PART, None)[0]
        with serve(503) as client, pytest.raises(UserError, match="consecutive episodes failed"):
            collect_episodes.fn(run, shard.model_copy(update={"client": client}))
        with pytest.raises(UserError, match="consecutive episodes failed"):  # conditions beside it stop for the same
            collect_episodes.fn(run, shard)
        close_meter(run)
        assert collect_episodes.fn(run, shard).played_count == COUNT


@pytest.mark.parametrize("purpose", ["teacher", "evaluation"])
def test_unused_port_stops_the_run_for_any_purpose(home, purpose):
    nobody = EndpointClientSpec(endpoint=EndpointSpec(base_url="http://127.0.0.1:9/v1", concurrency=1, max_retries=0))
    with pytest.raises(UserError, match=r"endpoint unavailable: \d+ consecutive episodes failed"):
        collect(nobody, condition=PERSISTENT.model_copy(update={"purpose": purpose}))
    assert LandingZone(home / "landing").scan("episodes").collect().height == FAILURES_IN_A_ROW


@pytest.mark.parametrize("statuses", [(400,), (422,), (503, 200)])
def test_refused_conversations_and_single_failures_stop_nothing(statuses):
    with serve(*statuses) as client:
        assert collect(client).played_count == COUNT


def test_spent_money_holds_up_no_episode_of_a_scripted_policy():
    limits = Limits(max_cost=0.01, prices=Prices(prompt=1000.0))
    with serve(200) as client, pytest.raises(LimitReachedError, match="max_cost"):
        collect(client, limits)
    assert collect(ScriptedClientSpec(concurrency=1), limits).played_count == COUNT - 1
