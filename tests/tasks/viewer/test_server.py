"""The viewer's server: it reads, and answers its own pages alone."""

import pytest
from starlette.testclient import TestClient

from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.server import viewer_app


def answer(path, plan, where):
    if path == "unknown":
        raise UserError("no page 'unknown'")
    return {"path": path, "plan": plan, "where": where}


@pytest.fixture
def client():
    return TestClient(viewer_app(answer), base_url="http://127.0.0.1:8")


def test_page_and_built_files_are_served(client):
    assert 'src="viewer.js"' in client.get("/").text
    assert client.get("/viewer.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/viewer.css").headers["content-type"].startswith("text/css")
    assert client.get("/record.json").status_code == 404


def test_values_are_asked_with_plan_and_condition(client):
    told = client.get("/api/episode/e?plan=p&where=score>0").json()
    assert told == {"path": "episode/e", "plan": "p", "where": "score>0"}


def test_a_user_s_error_is_told(client):
    refused = client.get("/api/unknown")
    assert (refused.status_code, refused.json()) == (404, {"error": "no page 'unknown'"})


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_written(client, method):
    assert client.request(method, "/api/study").status_code == 405


def test_pages_may_load_nothing_from_elsewhere(client):
    assert "default-src 'none'" in client.get("/").headers["content-security-policy"]


def test_another_host_name_is_refused(client):
    assert client.get("/api/study", headers={"host": "evil.example"}).status_code == 403


@pytest.mark.parametrize("host", ["192.0.2.7", "box.example", "[2001:db8::1]"])
def test_with_a_token_every_address_of_the_machine_answers(host):
    client = TestClient(viewer_app(answer, token="secret"), base_url=f"http://{host}:8")
    assert client.get("/api/study").status_code == 401
    assert client.get("/api/study?token=secret").status_code == 200


def test_a_token_is_shown_once_and_kept_in_a_cookie():
    client = TestClient(viewer_app(answer, token="secret"), base_url="http://box")
    assert client.get("/api/study").status_code == 401
    assert client.get("/api/study?token=wrong").status_code == 401
    assert client.get("/?token=secret", follow_redirects=False).status_code == 307
    assert client.get("/api/study").status_code == 200


def test_an_answer_is_made_once():
    asked = []

    def answer_once(path, plan, where):
        asked.append(path)
        return {}

    client = TestClient(viewer_app(answer_once), base_url="http://127.0.0.1:8")
    assert [client.get("/api/study").json() for _ in range(2)] == [{}, {}]
    assert asked == ["study"]
