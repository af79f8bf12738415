"""CaveAgent (arXiv 2601.01569): an agent whose memory is its interpreter.

Read `agent.py` first: `Agent` is what a user opens. `speaker.py` is its side of the episode machine, `conversation.py`
the text that the model sees, `tracing.py` makes rows of it, `saved.py` a file that resumes. `arms/` and `suites/` hold
the studies, `importers/` suites of others, `examples/` programs that run without an endpoint.

What must stay true: whatever goes wrong ends a question with a stop reason (`tests/tasks/cave/test_loop.py`); nothing
that agent code returns runs in the host (`test_hostile.py`); the oracle passes every suite (`arms/test_play.py`).
"""
