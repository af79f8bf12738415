import pytest

from carryover.tasks.analysis.queries import table_names, table_query
from carryover.tasks.services.errors import UserError


@pytest.mark.parametrize("name", ["table_2", "table_02", "2"])
def test_a_table_is_found_by_its_number(name):
    assert table_query(name).name == "table_2"


def test_a_table_query_has_title_and_parameters():
    query = table_query("table_4")
    assert query.title.startswith("Table 4: the tools' own signatures")
    assert query.parameters == ("tools_json",)


def test_the_papers_tables_come_first():
    assert table_names()[:10] == [f"table_{number}" for number in range(1, 11)]


def test_an_unknown_table_names_the_others():
    with pytest.raises(UserError, match=r"unknown table 'table_11'; choose from table_1, .*, token_ratios"):
        table_query("table_11")
