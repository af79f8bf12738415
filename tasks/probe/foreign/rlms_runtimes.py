"""REPLs of Recursive Language Models (`rlms`)."""
# pyright: reportMissingImports=false

from typing import Any


class IPythonREPL:
    """`IPythonREPL` with its defaults: blocks run in this process."""

    PACKAGES = ("rlms", "ipython")

    def open(self) -> None:
        from rlm.environments.ipython_repl import IPythonREPL

        self._repl = IPythonREPL()

    def run(self, code: str) -> str:
        done = self._repl.execute_code(code)
        return f"{done.stdout}\n{done.stderr}"

    def close(self) -> None:
        self._repl.cleanup()


class LocalREPL(IPythonREPL):
    """`LocalREPL`: blocks run in this process, on a copy of the names."""

    PACKAGES = ("rlms",)

    def open(self) -> None:
        from rlm.environments.local_repl import LocalREPL

        self._given = {}
        self._repl = LocalREPL()

    def inject(self, values: dict[str, Any]) -> None:
        self._given = values
        self._repl.locals.update(values)

    def injected(self) -> dict[str, Any]:
        return self._given
