"""Fixtures that the tests of `storage` define, for what stands on landed rows."""

from tests.storage.conftest import empty_study, make_episode, make_row, path

__all__ = ["empty_study", "make_episode", "make_row", "path"]
