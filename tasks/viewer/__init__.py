"""The viewer: traces as read-only pages for a browser.

Read `pages.py` first: it answers paths with JSON values, from the queries in `sql/viewer`. `server.py` serves them,
`bundle.py` writes them as one file, `web/` holds the front end's source, and `built/` its built files.

What must stay true: nothing is written, no page asks another host, and text of a trace is never markup
(`tests/tasks/viewer/test_server.py`); built files belong to their sources (`test_built.py`).
"""
