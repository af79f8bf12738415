"""The landing zone: immutable Parquet bundles that any worker appends.

Read `landing.py` first: one write is one bundle, and its manifest (`bundles.py`) commits it last. `files.py` writes
whole files on a folder or on object storage, `objects.py` keeps models and datasets by their content, `scans.py` and
`sources.py` read landed rows as lazy frames and as SQL, `quarantine.py` finds what is damaged or foreign.

A file appears whole or not at all (`tests/storage/zone/test_files.py`); of an episode that landed twice, one bundle's
rows count (`test_bundles.py`); no module knows the warehouse (`tests/test_architecture.py`).
"""
