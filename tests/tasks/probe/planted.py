"""Runtimes with one fault each."""

import contextlib
import copy
import io
import sys
import traceback
import types
from pathlib import Path

from carryover.tasks.probe.connectors.command import CommandRuntime

REPL = Path(__file__).with_name("repl.py")


def persistent_command() -> CommandRuntime:
    return CommandRuntime([sys.executable, str(REPL), "persistent"])


def fresh_command() -> CommandRuntime:
    return CommandRuntime([sys.executable, str(REPL), "fresh"])


class LeaksOne(CommandRuntime):
    """Fresh processes, each of which begins with what an earlier block wrote into one channel."""

    def __init__(self, write: str) -> None:
        super().__init__(fresh_command()._words)
        self._write = write
        self._leaked = ""

    def run(self, code: str) -> str:
        text = super().run(self._leaked + code)
        if self._write in code:
            self._leaked = f"{code}\n"
        return text


class LosesOne(CommandRuntime):
    """A persistent process that takes nothing in by one channel."""

    def __init__(self, write: str) -> None:
        super().__init__(persistent_command()._words)
        self._write = write

    def run(self, code: str) -> str:
        return super().run(code.replace(self._write, "pass"))


class Namespace:
    """A persistent runtime within this process: names and nothing else."""

    def open(self) -> None:
        self.names = {}

    def run(self, code: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                self.execute(code)
            except Exception:  # noqa: BLE001 - whatever a block raises is its output
                traceback.print_exc(file=printed)
        return printed.getvalue()

    def execute(self, code: str) -> None:
        exec(code, self.names)

    def reset(self) -> None:
        self.names.clear()

    def close(self) -> None:
        self.names.clear()


class DropsNamesAfterError(Namespace):
    def execute(self, code: str) -> None:
        try:
            super().execute(code)
        except Exception:
            self.names.clear()
            raise


class DropsFailedBlock(Namespace):
    def execute(self, code: str) -> None:
        before = dict(self.names)
        try:
            super().execute(code)
        except Exception:
            self.names.clear()
            self.names.update(before)
            raise


class StaleAfterReset(Namespace):
    def reset(self) -> None:
        functions = {name: value for name, value in self.names.items() if isinstance(value, types.FunctionType)}
        self.names.clear()
        self.names.update(functions)


class ReadsLostNamesAsNone(Namespace):
    def run(self, code: str) -> str:
        text = super().run(code)
        return "None" if "NameError" in text else text


class FreezesGlobals(Namespace):
    def execute(self, code: str) -> None:
        super().execute(code)
        for name, value in list(self.names.items()):
            if isinstance(value, types.FunctionType) and value.__globals__ is self.names:
                self.names[name] = types.FunctionType(value.__code__, dict(self.names), name)


class EventfulNamespace(Namespace):
    """Names that a time-out, a resume and a kill leave as they were."""

    def time_out(self) -> None:
        pass

    def resume(self) -> None:
        pass

    def kill(self) -> None:
        self.names.clear()


class DropsNamesAfterTimeOut(EventfulNamespace):
    def time_out(self) -> None:
        self.names.clear()


class ResumesAnOldValue(EventfulNamespace):
    """Goes back to the first value of a name."""

    def execute(self, code: str) -> None:
        super().execute(code)
        self.first = getattr(self, "first", None) or self.names.get("x")

    def resume(self) -> None:
        self.names["x"] = self.first


class ResumesFrozenFunctions(EventfulNamespace):
    """Restores functions with a copy of the names that they read."""

    def resume(self) -> None:
        for name, value in list(self.names.items()):
            if isinstance(value, types.FunctionType):
                self.names[name] = types.FunctionType(value.__code__, dict(self.names), name)


class StaleAfterKill(EventfulNamespace):
    def kill(self) -> None:
        self.names["x"] = 0


class SharesInputs(Namespace):
    """Gives blocks the host's own objects."""

    def inject(self, values) -> None:
        self.given = values
        self.names.update(values)

    def injected(self):
        return self.given


class CopiesInputs(SharesInputs):
    def inject(self, values) -> None:
        self.given = values
        self.names.update(copy.deepcopy(values))


class RenewsInputs(SharesInputs):
    """Binds a fresh copy of the inputs before each block."""

    def execute(self, code: str) -> None:
        self.names.update(copy.deepcopy(getattr(self, "given", {})))
        super().execute(code)


class OffersNothing(SharesInputs):
    """Has optional methods that do not work."""

    def offers(self) -> frozenset[str]:
        return frozenset()


class LosesInputs(SharesInputs):
    def execute(self, code: str) -> None:
        super().execute(code)
        for name in getattr(self, "given", {}):
            self.names.pop(name, None)


class LetsErrorsThrough(Namespace):
    """Raises what a block raises, as `exec` does."""

    def run(self, code: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.execute(code)
        return printed.getvalue()


class RaisesAtOpening(Namespace):
    def open(self) -> None:
        raise ConnectionError("no sandbox here")


class RaisesAtResetAndClosing(EventfulNamespace):
    def reset(self) -> None:
        raise RuntimeError("the session is gone")

    def close(self) -> None:
        raise OSError("closed already")


class RaisesInOneChannel(Namespace):
    """Its client fails where a block speaks of the environment."""

    def run(self, code: str) -> str:
        if "environ" in code:
            raise RuntimeError("the service refused the block")
        return super().run(code)


class ReturnsObjects(Namespace):
    def run(self, code: str):  # pyright: ignore[reportIncompatibleMethodOverride]
        return {"text": super().run(code)}


class PrintsNothing(Namespace):
    def run(self, code: str) -> str:
        super().run(code)
        return ""
