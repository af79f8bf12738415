"""The viewer's server: it reads, and answers its own pages alone."""

import pytest
from starlette.testclient import TestClient

from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.built_files import built_file
from carryover.tasks.viewer.page import page
from carryover.tasks.viewer.server import viewer_app


def answer(path, plan, where):
    if path == "unknown":
        raise UserError("no page 'unknown'")
    return {"path": path, "plan": plan, "where": where}


@pytest.fixture
def client():
    return TestClient(viewer_app(answer), base_url="http://127.0.0.1:8")


def test_page_and_built_files_are_served(client):
    served = {path: client.get(path) for path in ("/", "/viewer.js", "/viewer.css")}
    assert {path: (answer.text, answer.headers["content-type"]) for path, answer in served.items()} == {
        "/": (page(), "text/html; charset=utf-8"),
        "/viewer.js": (built_file("viewer.js"), "text/javascript; charset=utf-8"),
        "/viewer.css": (built_file("viewer.css"), "text/css; charset=utf-8"),
    }
    other = client.get("/record.json")
    assert (other.status_code, other.text) == (404, "not found")


def test_a_page_loads_the_built_files_unless_told_others():
    assert '<link rel="stylesheet" href="viewer.css">\n</head>' in page()
    assert '<script src="viewer.js"></script>\n</body>' in page()
    assert page(iter(()), iter(())) == page()
    told = page(["<a>", "<b>"], iter(["<c>", "<d>"]))
    assert "<a>\n<b>\n</head>" in told
    assert "<c>\n<d>\n</body>" in told
    assert "viewer.css" not in told
    assert "viewer.js" not in told


def test_values_are_asked_with_plan_and_condition(client):
    told = client.get("/api/episode/e?plan=p&where=score>0")
    assert told.json() == {"path": "episode/e", "plan": "p", "where": "score>0"}
    assert told.headers["content-type"] == "application/json"
    assert client.get("/api/study").json() == {"path": "study", "plan": None, "where": None}


def test_a_user_s_error_is_told(client):
    refused = client.get("/api/unknown")
    assert (refused.status_code, refused.json()) == (404, {"error": "no page 'unknown'"})
    assert refused.headers["content-type"] == "application/json"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_written(client, method):
    assert client.request(method, "/api/study").status_code == 405


def test_every_answer_may_load_nothing_from_elsewhere(client):
    for path in ("/", "/viewer.js", "/api/study", "/api/unknown"):
        headers = client.get(path).headers
        assert {name: headers[name] for name in GUARDS} == GUARDS


GUARDS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


@pytest.mark.parametrize("host", ["evil.example", "", "127.0.0.1.evil.example:8", "[2001:db8::1]:8", "x[::1]"])
def test_another_host_name_is_refused(client, host):
    refused = client.get("/api/study", headers={"host": host})
    told = "unknown host; ask the server by the address that it printed"
    assert (refused.status_code, refused.text) == (403, told)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8", "[::1]", "[::1]:8"])
def test_every_name_of_the_machine_itself_answers(client, host):
    assert client.get("/api/study", headers={"host": host}).status_code == 200


def test_what_is_no_request_is_passed_on():
    with TestClient(viewer_app(answer, token="secret")):  # opens and closes the application
        pass


@pytest.mark.parametrize("host", ["192.0.2.7", "box.example", "[2001:db8::1]"])
def test_with_a_token_every_address_of_the_machine_answers(host):
    client = TestClient(viewer_app(answer, token="secret"), headers={"host": f"{host}:8"})
    assert client.get("/api/study").status_code == 401
    assert client.get("/api/study?token=secret").status_code == 200


def test_a_token_is_shown_once_and_kept_in_a_cookie():
    client = TestClient(viewer_app(answer, token="secret"), base_url="http://box")
    refused = client.get("/api/study")
    told = "a token is needed; open the address that the server printed"
    assert (refused.status_code, refused.text) == (401, told)
    assert client.get("/api/study?token=wrong").status_code == 401
    shown = client.get("/?token=secret", follow_redirects=False)
    assert (shown.status_code, shown.headers["location"]) == (307, "/")
    assert shown.headers["set-cookie"] == "carryover_token=secret; HttpOnly; Path=/; SameSite=strict"
    assert client.get("/api/study").status_code == 200


def test_an_answer_is_made_once():
    asked = []

    def answer_once(path, plan, where):
        asked.append(path)
        return {}

    client = TestClient(viewer_app(answer_once), base_url="http://127.0.0.1:8")
    asking = ["study", "study", "study?plan=a", "study?plan=a", "study?where=b", "run"]
    assert [client.get(f"/api/{path}").json() for path in asking] == [{}] * 6
    assert asked == ["study", "study", "study", "run"]
