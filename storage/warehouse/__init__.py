"""The DuckDB warehouse: one merger writes it, everybody else reads a copy.

Read `merger.py` first: it inserts landed bundles in one transaction (`insertion.py`), brings the schema up to date
(`migrations.py`), computes the marts of `sql/` (`marts.py`, or `mart_increment.py` for few new episodes) and replaces
the readers' copy. `reader.py` is the door for everybody else, and opens a landing zone in the same way.

A reader waits for no merger (`tests/storage/warehouse/test_reader.py`); a merge that is killed is repeated without harm
(`test_merger.py`); an increment gives the rows of a rebuild (`test_mart_increment.py`).
"""
