"""What an endpoint is told and what it answers, before any model is asked: no key goes astray, no answer breaks us."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from carryover.tasks.serving.ask import HttpAnswer, NoAnswer, ask
from carryover.tasks.serving.process import ServerError
from carryover.tasks.serving.server import open_server
from carryover.tasks.serving.serving_spec import ServedModels, ServingSpec

KEY = "CARRYOVER_TEST_LISTING_KEY"
LISTED = b'{"data": [{"id": "base"}]}'


class Listing:
    """What a server answers, and the headers that it was shown."""

    def __init__(self, body: bytes, *, status: int, location: str):
        self.body, self.status, self.location = body, status, location
        self.missing = 0
        self.shown = []
        self.url = ""


@contextmanager
def serve(body: bytes = LISTED, *, status: int = 200, location: str = ""):
    """Serve one answer on loopback."""
    listing = Listing(body, status=status, location=location)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            listing.shown.append((self.headers["Authorization"], self.headers["User-Agent"]))
            self.send_response(listing.status)
            if listing.location:
                self.send_header("Location", listing.location)
            self.send_header("Content-Length", str(len(listing.body) + listing.missing))
            self.end_headers()
            self.wfile.write(listing.body)

        def log_message(self, format, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listing.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield listing
    finally:
        server.shutdown()
        server.server_close()


HOW_TO_ADDRESS = (
    "give the address of an OpenAI-compatible API, version included, e.g. --endpoint-url http://HOST:8000/v1"
)


def names_of(listing, tmp_path, variable=None):
    """Return the models that an external endpoint lists."""
    spec = ServingSpec(engine="external", url=listing.url, api_key_variable=variable)
    with open_server(spec, ServedModels(base="anything"), tmp_path / "log") as server:
        return server.model_names


def test_an_endpoints_key_does_not_follow_its_redirect(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "secret")
    with serve() as elsewhere, serve(b"", status=302, location=f"{elsewhere.url}/models") as endpoint:
        assert names_of(endpoint, tmp_path, KEY) == ("base",)
    listed, version = ("Bearer secret", "carryover"), (None, "carryover")
    assert endpoint.shown == [listed, version]
    assert elsewhere.shown == [(None, "carryover")] * 2


@pytest.mark.parametrize(
    "body", [b"[]", b'{"data": null}', b'{"data": [null]}', b"7", b"hello", b'{"models": []}', b"\xff"]
)
def test_an_answer_that_lists_no_models_is_one_line(body, tmp_path):
    with serve(body) as endpoint, pytest.raises(ServerError) as raised:
        names_of(endpoint, tmp_path)
    assert str(raised.value) == f"{endpoint.url}/models does not list models: malformed response; {HOW_TO_ADDRESS}"


def test_an_address_without_a_listing_is_one_line_with_the_status(tmp_path):
    with serve(b"no", status=404) as endpoint, pytest.raises(ServerError) as raised:
        names_of(endpoint, tmp_path)
    assert str(raised.value) == f"{endpoint.url}/models does not list models: it answers HTTP 404; {HOW_TO_ADDRESS}"


@pytest.mark.parametrize(
    ("status", "variable", "way_out"),
    [
        (401, None, "name its key with --endpoint-key-variable"),
        (403, KEY, f"check the key in the environment variable {KEY}"),
    ],
)
def test_a_refused_key_is_one_line_with_the_way_to_another(tmp_path, monkeypatch, status, variable, way_out):
    monkeypatch.setenv(KEY, "secret")
    with serve(b"no", status=status) as endpoint, pytest.raises(ServerError) as raised:
        names_of(endpoint, tmp_path, variable)
    assert str(raised.value) == f"{endpoint.url}/models answers HTTP {status}; {way_out}"


def test_what_is_no_address_has_no_answer():
    assert ask("ftp://127.0.0.1/") == NoAnswer("nothing to ask or to read: UnsupportedProtocol")


def test_what_kept_an_answer_is_said_and_never_the_key():
    assert ask("http://127.0.0.1:9/v1/models") == NoAnswer("Connection refused")
    with serve() as endpoint:
        assert "secret" not in str(ask(endpoint.url, "secret\nkey"))
        encrypted = ask(endpoint.url.replace("http:", "https:"))
    assert isinstance(encrypted, NoAnswer)
    assert "SSL" in encrypted.reason or "TLS" in encrypted.reason


def test_an_answer_that_breaks_off_is_none():
    with serve() as listing:
        listing.missing = 1
        broken_off = ask(listing.url)
    assert isinstance(broken_off, NoAnswer)
    assert "without sending complete message body" in broken_off.reason


def test_an_answer_without_end_is_none(monkeypatch):
    monkeypatch.setattr("carryover.tasks.serving.ask.LARGEST_BODY", len(LISTED) - 1)
    with serve() as listing:
        assert ask(listing.url) == NoAnswer("the answer is too long")
    monkeypatch.setattr("carryover.tasks.serving.ask.LARGEST_BODY", len(LISTED))
    with serve() as listing:
        assert isinstance(ask(listing.url), HttpAnswer)


@pytest.mark.parametrize(
    ("body", "version"),
    [
        (b'{"data": [{"id": "base"}], "version": "0.32.0"}', "0.32.0"),
        (b'{"data": [{"id": "base"}], "version": {"of": 1}}', None),
        (b'{"data": [{"id": "base"}], "version": "%s"}' % (b"v" * 101), "v" * 100),
        (LISTED, None),
    ],
)
def test_an_endpoints_version_is_optional_and_asked_without_key(monkeypatch, tmp_path, body, version):
    monkeypatch.setenv(KEY, "secret")
    with serve(body) as listing:
        spec = ServingSpec(engine="external", url=listing.url, api_key_variable=KEY)
        with open_server(spec, ServedModels(base="base"), tmp_path / "log") as server:
            assert server.version == version
    assert [key for key, _ in listing.shown] == ["Bearer secret", None]
