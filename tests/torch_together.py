"""Distribution of the test files over processes, those that load torch or Great Expectations to one of them."""

from xdist.scheduler import LoadFileScheduling

LOADERS = (
    "tests/tasks/checks/test_suites.py",
    "tests/tasks/datasets/test_dataset.py",
    "tests/tasks/datasets/test_suite.py",
    "tests/tasks/environment/",
    "tests/tasks/reinforcement/",
    "tests/tasks/services/test_chat_text.py",
    "tests/tasks/services/test_hub.py",
    "tests/tasks/serving/cpu/",
    "tests/tasks/sft/",
    "tests/tasks/stages/test_gate.py",
    "tests/tasks/test_prepare.py",
    "tests/tasks/test_provide_tokenizer.py",
    "tests/tasks/test_serve.py",
)
"""Files and folders of tests that import torch, transformers, trl or Great Expectations: a dozen processor seconds per
process."""


def unit_of(test: str) -> str:
    """Return the unit of work that a test belongs to: its file, or that of all loaders of torch."""
    if test.startswith(LOADERS):
        return "torch"
    return test.split("::", 1)[0]


class TorchTogether(LoadFileScheduling):
    """Each process takes one unit of work after the other."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)
