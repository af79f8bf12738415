"""The nodes of the graph: one thin Prefect task per module.

In the order of the study: generate, collect, provide_tokenizer, prepare, train, reinforce, serve, analyse; judge for
re-evaluations, play_cases and train_arms for CaveAgent's suites. `stages/` holds what they share and needs Prefect
or storage; every other package is plain Python.

Imports run one way: flows, tasks, stages, storage, packages (`tests/test_architecture.py`). An edit runs again exactly
the stages behind it (`tests/tasks/plans/test_identity.py`).
"""
