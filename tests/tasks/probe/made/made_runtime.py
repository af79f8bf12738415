"""A runtime of another package, as `serve.py` loads it: names in a dictionary, with every method that it may have."""

import contextlib
import io
import traceback


class Made:
    PACKAGES = ("pytest",)  # one that is there, in place of the runtime's own

    def open(self):
        self.names = {}
        self.given = {}

    def run(self, code):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(code, self.names)
            except Exception:  # noqa: BLE001 - whatever a block raises is its output
                traceback.print_exc(file=printed)
        return printed.getvalue()

    def reset(self):
        self.names = {}

    def resume(self):
        self.names = dict(self.names)

    def inject(self, values):
        self.given = values
        self.names.update(values)

    def injected(self):
        return self.given

    def close(self):
        print("a line that is no reply")
