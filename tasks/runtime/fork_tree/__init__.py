"""The default backend: a tree of forked interpreters, a root per episode.

Read `fork_engine.py` first. `processes.py` chooses the process of the next block: a fresh fork of the root for each
(stateless), or one live process beside a frozen copy of its last state (persistent). `runtime.py` grows roots from the
worker's zygote, `turn.py` shares a scratch folder between branches.

What must stay true: every step takes one process, under each contract (`tests/tasks/runtime/fork_tree/test_forks.py`);
a killed block leaves the state before it (`tests/tasks/runtime/test_conformance.py`).
"""
