"""All findings about traces of every kind, and the page about them, compared whole."""

import json

import pytest

from tests.tasks.lint.whole_lints import KEPT, KEPT_PAGE, findings, page

EXPECTED = json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found():
    return findings()


@pytest.mark.parametrize("name", EXPECTED)
def test_findings_about_a_trace_are_these(found, name):
    assert found[name] == EXPECTED[name]


def test_the_page_about_the_traces_is_the_kept_one():
    assert page() == KEPT_PAGE.read_text(encoding="utf-8")
