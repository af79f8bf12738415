"""The viewer: traces as pages for a browser; read-only, without a warehouse of its own.

`pages.py` answers paths with JSON values, `server.py` serves them, `web/` holds the front end's source, `built/` its
built files.
"""
