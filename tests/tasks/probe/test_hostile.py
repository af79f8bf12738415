"""What hostile blocks are told to reach, and how their texts are judged."""

import re
from pathlib import Path

from carryover.tasks.probe.hostile import probe_hostile
from tests.tasks.probe.scripted_runtime import Says

ATTEMPTS = [
    "file of the host",
    "network of the host",
    "memory of another process",
    "environment of another process",
]


class Hides(Says):
    """Holds a value beside its blocks, and lets one see it."""

    def hide(self, value):
        self.answers.append(f"found {value}")


def test_a_denial_is_told_with_its_reason():
    runtime = Says("", "1\nPermissionError: no. Ask for it", "  \n", "OSError: gone")
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
