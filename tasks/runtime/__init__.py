"""The execution contract: interpreters of one episode, in a sandbox.

Read `README.md` and `session.py` first, then `interpreter.py` (what users call) and `blocks.py` (a block from code to
result). The protocol `engine.py` has two backends, `fork_tree/` (a tree of forked processes) and `jupyter/`.
`contract.py` and `lifetime.py` define what a contract keeps, `state.py` snapshots and rollback. `process/` watches a
block, `sandbox/` starts the processes, and `inside/` is all that runs in the sandbox: standard library only, importing
nothing of the host's side.

What must stay true: contracts differ in the lifetime of bindings and in nothing else, on both backends
(`tests/tasks/runtime/test_conformance.py`); no channel leaks from a stateless step to the next (`test_channels.py`); a
block cannot leave its walls (`attacks/`).
"""
