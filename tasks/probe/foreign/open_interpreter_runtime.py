"""open-interpreter's computer, whose Python is a Jupyter kernel."""
# pyright: reportMissingImports=false

import threading


class Computer:
    """`interpreter.computer`; a reset ends its languages until the next block."""

    PACKAGES = ("open-interpreter", "ipykernel")

    def open(self) -> None:
        from interpreter import interpreter

        interpreter.computer.import_computer_api = False
        self._computer = interpreter.computer
        self.run("pass")

    def run(self, code: str) -> str:
        parts = self._computer.run("python", code)
        return "\n".join(str(part.get("content", "")) for part in parts)

    def time_out(self) -> None:
        threading.Timer(2, self._computer.stop).start()
        self.run("import time\ntime.sleep(60)")

    def reset(self) -> None:
        self._computer.terminate()

    def close(self) -> None:
        self._computer.terminate()
