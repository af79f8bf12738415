"""Examples that run without an endpoint: `python -m carryover.tasks.cave.examples.town`.

Read `ten_lines.py` first. `newsroom.py` asks two agents, `long_text.py` reads a long text piece by piece, `town.py`
puts residents on one interpreter, and in `live_home.py` two agents act on live objects.

What must stay true: each of them runs as it stands (`tests/tasks/cave/test_society.py`).
"""
