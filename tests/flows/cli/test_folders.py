import re
from importlib.resources import files

import pytest

from carryover.storage.warehouse.reader import Warehouse
from carryover.tasks.analysis.queries import command_sql

NAMES = sorted(file.name.removesuffix(".sql") for file in (files("carryover.sql") / "commands").iterdir())


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    with Warehouse.open(tmp_path_factory.mktemp("landing")) as warehouse:
        yield warehouse


@pytest.mark.parametrize("name", NAMES)
def test_a_command_s_query_is_one_statement_that_binds(empty, name):
    sql = command_sql(name)
    assert sql.startswith("-- ")
    parameters = dict.fromkeys(re.findall(r"\$([a-z_]\w*)", sql.replace("'$.", "'.")))
    count = name in ("failed_count", "other_sources")
    assert len(empty.sql(sql, **parameters)) == count
