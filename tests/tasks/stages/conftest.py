"""Fixtures that the tests of `storage` define, for what stands on landed rows."""

from tests.storage.conftest import insert_rows, make_episode, make_row, study_rows

__all__ = ["insert_rows", "make_episode", "make_row", "study_rows"]
