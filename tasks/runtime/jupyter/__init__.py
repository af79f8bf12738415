"""The second backend: our step runner inside an ipykernel.

Read `kernel_engine.py` first: the engine's protocol on kernels, which cannot fork, so that going back replays the
journal. `relay.py` limits what a kernel answers; `front_end.py` is a kernel for people.

What must stay true: every contract holds here as on the fork tree (`tests/tasks/runtime/test_conformance.py`).
"""
