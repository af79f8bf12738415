"""The README's queries mix no settings."""

import re
import shlex
from pathlib import Path

import pytest

from tests.sql.kept_results import kept_results

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SETTING = ("variant", "base", "visibility", "header", "bucket")
EXAMPLE = re.compile(r'    settings = "(?P<settings>.+)"\n    query = f"(?P<query>.+)"\n')


def shell_query() -> str:
    (line,) = re.findall(r'carryover query (".+?")\n', README.replace("\\\n", " "), flags=re.DOTALL)
    (query,) = shlex.split(line)
    return query


def python_query() -> str:
    match = EXAMPLE.search(README)
    assert match is not None
    return match["query"].format(settings=match["settings"])


@pytest.mark.parametrize("query", [shell_query(), python_query()], ids=["shell", "python"])
def test_a_query_of_the_readme_has_a_row_per_setting_and_condition(query):
    kept = kept_results("laptop_full")
    named = {"model": "sft"} if "$model" in query else {}
    shown = kept.sql(query, **named).polars()
    assert shown.select(*SETTING, "condition").is_unique().all()
    cells = kept.sql("select * from marts.evaluated_cells where model = 'sft'").polars()
    beside = shown.join(cells, on=[*SETTING, "condition"], validate="1:1")
    assert beside.height == shown.height == cells.height
    assert beside["score"].to_list() == pytest.approx((beside["score_pct"] / 100).to_list())
