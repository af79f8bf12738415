"""Episodes of one condition: what has landed is the truth, errors are attempts, and limits stop cleanly."""

import itertools
import json
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from carryover.storage.zone.batching import BatchedLanding
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.client import ClientSpec, EndpointClientSpec, ScriptedClientSpec
from carryover.tasks.agent.episode_spec import EndpointSpec
from carryover.tasks.agent.protocol import ReplyNotKeptError
from carryover.tasks.agent.study_speaker import ContractViolationError
from carryover.tasks.collect import Collected, collect_episodes
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.shards import teacher_shards
from carryover.tasks.plans.study_plan import teacher_conditions
from carryover.tasks.runtime.interpreter import Interpreter
from carryover.tasks.services.limits import LimitReachedError, Prices
from carryover.tasks.stages.runs import start_run
from carryover.tasks.traces.vocabulary import FinishReason
from tests.tasks.made import make_instances

COUNT = 4
PLAN = resolve_plan("smoke", Overrides(train_count=COUNT))
(PART,) = PLAN.parts
PERSISTENT, STATELESS = teacher_conditions(PART)
SCRIPTED = ScriptedClientSpec(concurrency=1)
NOBODY = EndpointClientSpec(endpoint=EndpointSpec(base_url="http://127.0.0.1:9/v1", max_retries=0))
"""An endpoint that died: nothing listens there."""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty data folder."""
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    return tmp_path / "data"


class Finishing(BaseHTTPRequestHandler):
    """A model that finishes at once, in 10 and 5 tokens."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "I am done.\n```python\nfinish()\n```"}
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


class Refusing(BaseHTTPRequestHandler):
    """A model that refuses every conversation."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(422)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format, *args):
        pass


@contextmanager
def serve(handler):
    """Yield a client of a model on loopback, one episode at a time."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield EndpointClientSpec(endpoint=EndpointSpec(base_url=f"http://127.0.0.1:{server.server_port}/v1", concurrency=1))
    server.shutdown()
    server.server_close()


@pytest.fixture
def endpoint():
    """A client of the model that finishes at once."""
    with serve(Finishing) as client:
        yield client


def play(run, condition, client, **arguments):
    make_instances(run, PART.train_instances)
    shard = teacher_shards(run, PART, None)[0]
    return collect_episodes.fn(run, shard.model_copy(update={"condition": condition, "client": client, **arguments}))


def collect(client: ClientSpec = SCRIPTED, *, limits=Limits(), **arguments):  # noqa: B008 - frozen
    """Play the persistent condition in a run of its own."""
    with start_run("toy", PLAN, limits) as run:
        return play(run, PERSISTENT, client, **arguments)


def landed(home):
    episodes = LandingZone(home / "landing").scan("episodes").collect().sort("attempt", "instance_id")
    return list(zip(episodes["instance_id"], episodes["attempt"], episodes["finish_reason"], strict=True))


def test_failed_episodes_stay_as_attempts_and_run_again(home):
    first = collect(NOBODY)
    assert first.first_error is not None
    assert "http://127.0.0.1:9/v1" in first.first_error
    expected = Collected(planned_count=COUNT, played_count=COUNT, error_count=COUNT, first_error=first.first_error)
    assert first == expected
    assert collect() == Collected(planned_count=COUNT, played_count=COUNT)
    attempts = landed(home)
    assert [(attempt, reason) for _, attempt, reason in attempts] == (
        [(0, FinishReason.ERROR)] * COUNT + [(1, FinishReason.FINISH_TOOL)] * COUNT
    )
    assert collect() == Collected(planned_count=COUNT)


def test_broken_contract_stops_the_run_without_its_episode(home, monkeypatch):
    opened, verify = [], Interpreter.verify_contract

    def break_the_third(interpreter):
        if interpreter not in opened:
            opened.append(interpreter)
        return verify(interpreter) and len(opened) < 3

    monkeypatch.setattr(Interpreter, "verify_contract", break_the_third)
    with pytest.raises(ContractViolationError, match="the episode is left out and the run stops"):
        collect()
    assert [(attempt, reason) for _, attempt, reason in landed(home)] == [(0, FinishReason.FINISH_TOOL)] * 2
    assert LandingZone(home / "landing").read("run_ends")["status"].to_pylist() == ["failed"]


def test_episode_is_given_up_after_the_allowed_attempts(home):
    with serve(Refusing) as refusing:
        first, second, third = (collect(refusing, maximum_attempts=2) for _ in range(3))
    assert (first.error_count, first.given_up_count) == (COUNT, 0)
    assert (second.error_count, second.given_up_count) == (COUNT, COUNT)
    assert third.played_count == 0
    assert [attempt for _, attempt, _ in landed(home)] == [0] * COUNT + [1] * COUNT
    assert collect(maximum_attempts=3).played_count == COUNT


def test_attempt_at_a_down_endpoint_counts_towards_no_maximum(home):
    with serve(Refusing) as refusing:
        down, refused, gone = (collect(client, maximum_attempts=1) for client in (NOBODY, refusing, NOBODY))
    assert (down.error_count, down.given_up_count) == (COUNT, 0)
    assert (refused.error_count, refused.given_up_count) == (COUNT, COUNT)
    assert gone.played_count == 0
    assert [attempt for _, attempt, _ in landed(home)] == [0] * COUNT + [1] * COUNT


def test_a_new_replicate_plays_only_what_is_new(home):
    collect()
    again = collect(replicates=2)
    assert (again.planned_count, again.played_count) == (2 * COUNT, COUNT)
    assert len(landed(home)) == 2 * COUNT


def test_limit_stops_the_run_and_a_higher_one_resumes(home, endpoint):
    with pytest.raises(LimitReachedError, match="45 tokens are spent of max_tokens_total 40"):
        collect(endpoint, limits=Limits(max_tokens_total=40))
    assert len(landed(home)) == 3
    with pytest.raises(LimitReachedError, match="45 tokens are spent of max_tokens_total 41"):
        collect(endpoint, limits=Limits(max_tokens_total=41))
    assert collect(endpoint, limits=Limits(max_tokens_total=46)).played_count == 1
    assert len(landed(home)) == COUNT


def test_a_cost_stops_the_run_at_the_given_prices(home, endpoint):
    limits = Limits(max_cost=0.05, prices=Prices(prompt=1000.0, completion=4000.0))  # 10 x 0.001 + 5 x 0.004 = 0.03
    with pytest.raises(LimitReachedError, match=r"0\.06 is spent of max_cost 0\.05"):
        collect(endpoint, limits=limits)
    assert len(landed(home)) == 2


def test_only_an_endpoint_given_by_url_costs_money(endpoint):
    dear = Limits(max_cost=0.05, prices=Prices(prompt=1000.0, completion=4000.0))  # 0.03 an episode
    evaluation = PERSISTENT.model_copy(update={"purpose": "evaluation", "split": "evaluation"})
    with start_run("toy", PLAN, dear) as run:
        assert play(run, evaluation, endpoint).played_count == COUNT
    with start_run("toy", PLAN, dear) as run, pytest.raises(LimitReachedError, match=r"0\.06 is spent"):
        play(run, PERSISTENT, endpoint)  # a teacher; the evaluation that has landed adds nothing
    external = resolve_plan("smoke", Overrides(train_count=COUNT, endpoint_url=endpoint.endpoint.base_url))
    with start_run("toy", external, dear) as run, pytest.raises(LimitReachedError, match=r"0\.06 is spent"):
        play(run, evaluation.model_copy(update={"variant": "external"}), endpoint)


def test_a_kept_reply_is_paid_for_once(home, endpoint):
    kept = endpoint.model_copy(update={"cache": home / "responses"})
    collect(kept)
    again = PERSISTENT.model_copy(update={"variant": "again"})
    with start_run("toy", PLAN.model_copy(update={"source": "another"}), Limits(max_tokens_total=1)) as run:
        assert play(run, again, kept).played_count == COUNT
    replayed = LandingZone(home / "landing").scan("turns").filter(turn=1).collect()["is_replayed"]
    assert sorted(replayed) == [False] * COUNT + [True] * COUNT


def test_reply_paid_before_a_kill_counts_with_its_episode(home, endpoint):
    kept = endpoint.model_copy(update={"cache": home / "responses"})
    collect(kept)
    shutil.rmtree(home / "landing")
    with pytest.raises(LimitReachedError, match="45 tokens are spent of max_tokens_total 40"):
        collect(kept, limits=Limits(max_tokens_total=40))


def test_a_scripted_policy_spends_nothing(home):
    assert collect(limits=Limits(max_tokens_total=1)).played_count == COUNT


def test_concurrent_conditions_spend_from_one_limit(home, endpoint):
    with start_run("toy", PLAN, Limits(max_tokens_total=60)) as run, ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(play, run, condition, endpoint) for condition in (PERSISTENT, STATELESS)]
    assert any(isinstance(future.exception(), LimitReachedError) for future in futures)
    assert len(landed(home)) in (4, 5)  # one may be under way when the other spends the last token


def test_unkept_reply_stops_the_run_and_lands_its_tokens(home, endpoint):
    home.mkdir()
    blocked = home / "responses"
    blocked.write_text("no folder")
    with pytest.raises(ReplyNotKeptError, match=f"cannot keep a reply in {blocked}: .*; make it writable and start"):
        collect(endpoint.model_copy(update={"cache": blocked}))
    assert [(attempt, reason) for _, attempt, reason in landed(home)] == [(0, FinishReason.ERROR)]
    turns = LandingZone(home / "landing").scan("turns").filter(turn=1).collect()
    assert turns.select("prompt_tokens", "completion_tokens", "is_replayed").rows() == [(10, 5, False)]
    blocked.unlink()
    with pytest.raises(LimitReachedError, match="15 tokens are spent of max_tokens_total 15"):
        collect(endpoint, limits=Limits(max_tokens_total=15))


def test_episode_lands_while_the_model_plays_the_next_one(home, monkeypatch):
    asked, is_old, landed_meanwhile = itertools.count(1), threading.Event(), []

    class Thinking(Finishing):
        """Answers the second request when the first one's episode has landed, or has had two minutes to."""

        def do_POST(self):
            if next(asked) == 2:
                is_old.set()
                patience = time.monotonic() + 120
                while not landed(home) and time.monotonic() < patience:
                    time.sleep(0.05)
                landed_meanwhile.append(len(landed(home)))
            super().do_POST()

    # what was added is young until the second request, whenever that comes
    batched = partial(BatchedLanding, clock=lambda: 3600.0 * is_old.is_set())
    monkeypatch.setattr("carryover.tasks.collect.BatchedLanding", batched)
    with serve(Thinking) as client:
        assert collect(client).played_count == COUNT
    assert landed_meanwhile == [1]
