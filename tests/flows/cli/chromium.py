"""A page in headless Chromium, asked over the DevTools protocol: what it shows, logs and loads."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import connect
from websockets.sync.connection import Connection

STARTUP_SECONDS = 60.0
SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

KEY_CODES = {"Escape": 27, "Enter": 13}
"""Keys that the browser itself acts on."""


class Page:
    """An open tab; `events` holds what the browser reported, oldest first."""

    def __init__(self, socket: Connection) -> None:
        self.events: list[dict[str, Any]] = []
        self._socket = socket
        self._count = 0
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def show(self, url: str, width: int, height: int = 900) -> None:
        """Load a page at a width in CSS pixels and wait until it has loaded."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self.events.clear()
        self._call("Page.navigate", url=url)
        while not self.reported("Page.loadEventFired"):
            self._receive()

    def prefer(self, scheme: str, media: str = "screen") -> None:
        """Show pages as on a screen that is set to `light` or `dark`, or as they are printed (`print`)."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", media=media, features=features)

    def press(self, key: str) -> None:
        """Press a key, as a reader does."""
        event: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": KEY_CODES.get(key, 0)}
        if len(key) == 1:
            event["text"] = key
        self._call("Input.dispatchKeyEvent", type="keyDown", **event)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag the mouse from one place to another."""
        for kind, (x, y) in (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def wait(self, script: str) -> Any:
        """Ask a JavaScript expression until its value is true, and return it."""
        deadline = time.monotonic() + STARTUP_SECONDS
        while not (value := self.ask(script)):
            assert time.monotonic() < deadline, f"{script} stayed {value!r}"
            time.sleep(0.02)
        return value

    def ask(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def reported(self, *methods: str) -> list[dict[str, Any]]:
        """Return the parameters of the events of some kinds."""
        return [event["params"] for event in self.events if event["method"] in methods]

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def _receive(self) -> dict[str, Any]:
        message = json.loads(self._socket.recv(timeout=STARTUP_SECONDS))
        if "method" in message:
            self.events.append(message)
        return message


@contextmanager
def open_page() -> Iterator[Page]:
    """Yield a tab of a browser that ends with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = ["chromium", *SWITCHES, f"--user-data-dir={profile}", "about:blank"]
        log = Path(profile) / "log"
        environment = {**os.environ, "TMPDIR": profile}
        with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out, env=environment) as browser:
            try:
                url = _wait_for_page(browser, Path(profile))["webSocketDebuggerUrl"]
                with connect(url, max_size=None, open_timeout=STARTUP_SECONDS, proxy=None) as socket:
                    yield Page(socket)
            finally:
                browser.terminate()


def _wait_for_page(browser: subprocess.Popen[bytes], profile: Path) -> dict[str, Any]:
    """Wait until the browser has a tab that shows a page, and return it."""
    deadline = time.monotonic() + STARTUP_SECONDS
    while not (pages := [tab for tab in _tabs(profile) if tab["type"] == "page"]):
        assert browser.poll() is None, (profile / "log").read_text()
        assert time.monotonic() < deadline, f"Chromium did not start in {STARTUP_SECONDS:.0f} s"
        time.sleep(0.05)
    return pages[0]


def _tabs(profile: Path) -> list[dict[str, Any]]:
    """Return the browser's tabs; none before it has written the port that it listens on."""
    port_file = profile / "DevToolsActivePort"
    if not (port_file.exists() and "\n" in port_file.read_text()):
        return []
    url = f"http://127.0.0.1:{port_file.read_text().splitlines()[0]}/json/list"
    return httpx.get(url, timeout=STARTUP_SECONDS, trust_env=False).json()
