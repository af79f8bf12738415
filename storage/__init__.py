"""The warehouse's Python side: tables, and no plans.

`zone` takes bundles of Parquet files from any number of workers; `warehouse` is the one DuckDB file that a merge fills
from them. Read `zone/landing.py` first, then `warehouse/merger.py` and `warehouse/reader.py`.

Landing or merging the same rows twice changes nothing, and a killed writer or merger loses nothing
(`tests/storage/test_kills.py`). Tables are the row models of `tasks/traces` (`tests/storage/zone/test_schemas.py`).
Nothing here imports `tasks/plans` or `tasks/stages` (`tests/test_architecture.py`).
"""
