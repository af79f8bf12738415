import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.preflight import check_needs, endpoint_lacks
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.machine import Machine

KEY = "CARRYOVER_TEST_ENDPOINT_KEY"
MODELS = json.dumps({"object": "list", "data": [{"id": "models/small"}, {"id": "large"}]})


class Endpoint:
    """A server on loopback that answers by path to the key `right`, and remembers the keys that it was shown."""

    def __init__(self):
        self.answers = {"/v1/models": (200, MODELS)}
        self.refusal = (401, "no")
        self.shown = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                endpoint.shown.append(self.headers["Authorization"])
                is_known = endpoint.shown[-1] == "Bearer right"
                status, body = endpoint.answers.get(self.path, (404, "")) if is_known else endpoint.refusal
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.setenv(KEY, "right")
    endpoint = Endpoint()
    yield endpoint
    endpoint.server.shutdown()
    endpoint.server.server_close()


def lacks(endpoint, model=None, variable: str | None = KEY):
    return endpoint_lacks("the teacher's", endpoint.url, variable, model)


@pytest.mark.parametrize("model", [None, "small", "large"])
def test_the_right_key_and_a_listed_model_lack_nothing(endpoint, model):
    assert lacks(endpoint, model) == []
    assert endpoint.shown == ["Bearer right"]


@pytest.mark.parametrize(
    ("status", "body"), [(401, "no"), (403, "no"), (400, '{"message": "API key not valid. Please pass a valid one."}')]
)
def test_a_refused_key_is_named_by_its_variable(endpoint, monkeypatch, status, body):
    monkeypatch.setenv(KEY, "wrong")
    endpoint.refusal = (status, body)
    (line,) = lacks(endpoint, "small")
    expected = f"{endpoint.url} answers HTTP {status} to the one in the environment variable {KEY}"
    assert line == f"the teacher's key: {expected}"
    assert "wrong" not in line


def test_an_endpoint_without_its_key_says_so(endpoint):
    assert lacks(endpoint, variable=None) == [f"the teacher's key: {endpoint.url} answers HTTP 401 without one"]


def test_an_unset_key_is_an_answering_endpoint_s_only_complaint(endpoint, monkeypatch):
    monkeypatch.delenv(KEY)
    assert lacks(endpoint, "small") == [f"the teacher's key in the environment variable {KEY}"]


def test_an_unknown_model_is_named_beside_those_that_are_there(endpoint):
    assert lacks(endpoint, "huge") == [f"the teacher's model 'huge' at {endpoint.url}, which has small, large"]


def test_an_unlisted_model_that_can_be_asked_for_is_known(endpoint):
    endpoint.answers["/v1/models/alias"] = (200, "{}")
    assert lacks(endpoint, "alias") == []


@pytest.mark.parametrize("status", [404, 501])
def test_an_endpoint_that_refuses_to_list_its_models_passes(endpoint, status):
    endpoint.answers["/v1/models"] = (status, "")
    assert lacks(endpoint, "huge") == []


@pytest.mark.parametrize("body", ["hello", "[]", "{}", '{"data": []}', '{"data": null}', '{"data": [{"name": "a"}]}'])
def test_an_endpoint_that_lists_no_models_passes(endpoint, body):
    endpoint.answers["/v1/models"] = (200, body)
    assert lacks(endpoint, "huge") == []


def test_a_gateway_without_anybody_behind_it_is_no_answer(endpoint):
    endpoint.answers["/v1/models"] = (503, "")
    assert lacks(endpoint) == [f"an answer from the teacher's endpoint {endpoint.url} (HTTP 503)"]


def test_no_proxy_stands_between_us_and_this_machine(endpoint, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert lacks(endpoint, "small") == []


def test_a_study_says_what_its_teacher_lacks_before_it_starts(endpoint, tmp_path):
    overrides = Overrides(
        teacher_url=endpoint.url, teacher_key_variable=KEY, teacher_model="huge", base_model=str(tmp_path),
        endpoint_url=endpoint.url, endpoint_key_variable=KEY,
    )  # fmt: skip
    with pytest.raises(UserError) as raised:
        check_needs(
            resolve_plan("paper", overrides), lambda _: None, trains_here=True, find_machine=lambda: Machine("H100"),
            find_free=lambda _: 10**12,
        )  # fmt: skip
    assert str(raised.value) == (
        f"plan paper cannot start; missing: the teacher's model 'huge' at {endpoint.url}, which has small, large"
    )
