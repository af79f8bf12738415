import re
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.flows.cli.folders import choose_plan, find_folders, find_results, open_warehouse
from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.queries import command_sql
from carryover.tasks.services.errors import UserError

NAMES = sorted(file.name.removesuffix(".sql") for file in (files("carryover.sql") / "commands").iterdir())


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    with Warehouse.open(tmp_path_factory.mktemp("landing")) as warehouse:
        yield warehouse


class Plans:
    """A warehouse of these plans, with a finished study of one of them."""

    def __init__(self, *known, latest=None):
        self.known = [(digest,) for digest in known]
        self.latest_plan = lambda: latest

    def sql(self, query):
        assert query == command_sql("known_plans")
        return SimpleNamespace(rows=lambda: self.known)


@pytest.mark.parametrize(
    ("plans", "named", "chosen"),
    [
        (Plans("a"), None, "a"),
        (Plans("a", "b", latest="b"), None, "b"),
        (Plans("a", "b", latest="b"), "a", "a"),
    ],
)
def test_a_plan_is_the_named_the_latest_or_the_only_one(plans: Any, named, chosen):
    assert choose_plan(plans, named) == chosen


def test_plans_to_choose_from_are_five_at_most():
    plans: Any = Plans(*"abcdef")
    with pytest.raises(UserError) as refused:
        choose_plan(plans, None)
    assert str(refused.value) == "no study has finished; name one of the plans with --plan: a, b, c, d, e"
    with pytest.raises(UserError) as refused:
        choose_plan(plans, "x")
    assert str(refused.value) == "no run of plan 'x'; the latest plans are a, b, c, d, e"


def test_a_missing_folder_or_warehouse_says_how_to_fill_it(tmp_path):
    fill = "`make demo` fills it (SCALE=smoke in two minutes), `carryover merge` takes in what has landed"
    with pytest.raises(UserError) as refused:
        find_folders(tmp_path / "nowhere")
    assert str(refused.value) == f"no data folder {tmp_path}/nowhere; {fill}"
    assert find_folders(tmp_path).home == tmp_path
    with pytest.raises(UserError) as refused, open_warehouse(tmp_path):
        pass
    assert str(refused.value) == f"no warehouse at {tmp_path}/warehouse.duckdb; {fill}"
    assert list(tmp_path.iterdir()) == []


def test_results_are_found_by_name_or_folder(tmp_path, monkeypatch):
    own = Path(str(files("carryover.sql") / "results"))
    assert find_results("laptop_full") == own / "laptop_full"
    assert find_results(str(tmp_path)) == tmp_path
    monkeypatch.chdir(tmp_path)
    assert find_results(".") == tmp_path
    with pytest.raises(UserError) as refused:
        find_results("README.md")
    names = ", ".join(sorted(entry.name for entry in own.iterdir() if entry.is_dir()))
    assert str(refused.value) == (
        f"no results 'README.md'; give a folder that `carryover keep` wrote, or one of {names}"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_command_s_query_is_one_statement_that_binds(empty, name):
    sql = command_sql(name)
    assert sql.startswith("-- ")
    parameters = dict.fromkeys(re.findall(r"\$([a-z_]\w*)", sql.replace("'$.", "'.")))
    count = name in ("failed_count", "other_sources")
    assert len(empty.sql(sql, **parameters)) == count
