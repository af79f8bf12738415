"""What hostile blocks are told to reach, and how their texts are judged."""

import re
from pathlib import Path

from carryover.tasks.probe.hostile import probe_hostile

ATTEMPTS = [
    "file of the host",
    "network of the host",
    "memory of another process",
    "environment of another process",
]


class Answers:
    """Gives texts from a list, and notes the blocks."""

    def __init__(self, *texts):
        self._texts = list(texts)
        self.ran = []

    def open(self):
        pass

    def close(self):
        pass

    def run(self, code):
        self.ran.append(code)
        return self._texts.pop(0)


class Hides(Answers):
    """Holds a value beside its blocks, and lets one see it."""

    def hide(self, value):
        self._texts.append(f"found {value}")


def test_a_denial_is_told_with_its_reason():
    runtime = Answers("", "1\nPermissionError: no. Ask for it", "  \n", "OSError: gone")
    told = ["denied", "denied: PermissionError: no", "denied", "denied: OSError: gone"]
    assert probe_hostile(runtime) == dict(zip(ATTEMPTS, told, strict=True))
    (opened,) = re.findall(r"print\(open\('(.*)'\)\.read\(\)\)", runtime.ran[0])
    assert Path(opened).parents[1] == Path.home()
    assert not Path(opened).exists()
    words = ["socket.create_connection(('127.0.0.1', ", "/mem', 'rb', 0)", "/environ'"]
    assert all(word in code for word, code in zip(words, runtime.ran[1:], strict=True))


def test_a_value_that_the_host_holds_is_looked_for_where_it_can_be_hidden():
    runtime = Hides("", "", "", "")
    assert probe_hostile(runtime) == {**dict.fromkeys(ATTEMPTS, "denied"), "value of the runtime's host": "reached"}
    assert "gc.get_objects()" in runtime.ran[4]
