"""pydantic-monty, an interpreter of a part of Python."""
# pyright: reportMissingImports=false

from typing import Any


class Session:
    """A `MontySession` with a second a block, resumed from its dump."""

    PACKAGES = ("pydantic-monty",)

    def open(self) -> None:
        from pydantic_monty import Monty

        self._given = {}
        self._pool = Monty()
        self._pool.__enter__()
        self._check_out()

    def run(self, code: str) -> str:
        from pydantic_monty import CollectString, MontyError

        printed = CollectString()
        try:
            value = self._session.feed_run(code, inputs=dict(self._given), print_callback=printed)
        except MontyError as error:
            return f"{printed.output}\n{error}"
        return f"{printed.output}\n{value}"

    def time_out(self) -> None:
        self.run("while True:\n    pass")

    def resume(self) -> None:
        state = self._session.dump()
        self.reset()
        self._session.load_session(state)

    def reset(self) -> None:
        self._session.__exit__(None, None, None)
        self._check_out()

    def inject(self, values: dict[str, Any]) -> None:
        self._given = values

    def injected(self) -> dict[str, Any]:
        return self._given

    def close(self) -> None:
        self._session.__exit__(None, None, None)
        self._pool.__exit__(None, None, None)

    def _check_out(self) -> None:
        self._session = self._pool.checkout(limits={"max_feed_duration_secs": 1.0})
        self._session.__enter__()
