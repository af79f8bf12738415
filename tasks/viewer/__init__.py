"""The viewer: traces as read-only pages for a browser.

`pages.py` answers paths with JSON values, `server.py` serves them, `web/` holds the front end's source, `built/` its
built files.
"""
