"""One module per documented layout, each with `LAYOUT`, `JOINS_RECORDS`, `detect` and `read`."""
