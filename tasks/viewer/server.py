"""The viewer's read-only server: JSON pages and the front end."""

import secrets
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from carryover.tasks.services.errors import UserError
from carryover.tasks.viewer.built_files import built_file
from carryover.tasks.viewer.page import page
from carryover.tasks.viewer.pages import as_json

Answer = Callable[[str, str | None, str | None], dict[str, Any]]
"""Returns the values of a path, for a plan and an SQL condition where they are named."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
COOKIE = "carryover_token"
KEPT_ANSWERS = 32
"""Answers kept for a page that is loaded anew; a million steps' list has 8 MB."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_BUILT = {"viewer.js": "text/javascript", "viewer.css": "text/css"}


def viewer_app(answer: Answer, *, token: str | None = None) -> ASGIApp:
    """Return the ASGI application.

    Args:
        answer: Returns the values of a path, the same ones each time; `UserError` becomes status 404.
        token: What a browser must show first, as `?token=...`; a cookie keeps it. None asks for nothing,
            and refuses every host but loopback, so that no foreign page reaches the server.
    """

    @lru_cache(maxsize=KEPT_ANSWERS)
    def told(path: str, plan: str | None, where: str | None) -> str:
        return as_json(answer(path, plan, where))

    def show_values(request: Request) -> Response:
        query = request.query_params
        try:
            values = told(request.path_params["path"], query.get("plan"), query.get("where"))
        except UserError as error:
            return Response(as_json({"error": str(error)}), 404, media_type="application/json")
        return Response(values, media_type="application/json")

    app = Starlette(
        routes=[
            Route("/", _show_page),
            Route("/{name}", _show_built),
            Route("/api/{path:path}", show_values),
        ]
    )
    return _Guard(app, token)


def _show_page(_request: Request) -> Response:
    return Response(page(), media_type="text/html")


def _show_built(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _BUILT:
        return PlainTextResponse("not found", 404)
    return Response(built_file(name), media_type=_BUILT[name])


class _Guard:
    """Refuses foreign hosts, missing tokens, and loads from elsewhere."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refuse(Request(scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Content-Security-Policy"] = POLICY
                headers["X-Content-Type-Options"] = "nosniff"
                headers["Referrer-Policy"] = "no-referrer"
                headers["Cache-Control"] = "no-store"
            await send(message)

        await self._app(scope, receive, send_guarded)

    def _refuse(self, request: Request) -> Response | None:
        if self._token is None:
            return _refuse_foreign(request)
        if self._is_token(request.cookies.get(COOKIE, "")):
            return None
        if not self._is_token(request.query_params.get("token", "")):
            return PlainTextResponse("a token is needed; open the address that the server printed", 401)
        answer = RedirectResponse(request.url.path)
        answer.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
        return answer

    def _is_token(self, shown: str) -> bool:
        return self._token is not None and secrets.compare_digest(shown.encode(), self._token.encode())


def _refuse_foreign(request: Request) -> Response | None:
    if _host_of(request.headers) in LOOPBACK:
        return None
    return PlainTextResponse("unknown host; ask the server by the address that it printed", 403)


def _host_of(headers: Headers) -> str:
    """Return the host of a request without its port."""
    host = headers.get("host", "")
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
