import os

import pytest

from carryover.tasks.cave.opening import open_interpreter
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.runtime.runtime_spec import RuntimeSpec


def test_unknown_contract_leaves_no_process_behind():
    before = set(descendants(os.getpid()))
    with pytest.raises(ValueError, match="fleeting"):
        open_interpreter(RuntimeSpec(), "fleeting", None, None)
    assert before.issuperset(descendants(os.getpid()))
