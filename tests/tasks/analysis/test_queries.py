import pytest

from carryover.tasks.analysis.queries import (
    command_sql,
    general_tables,
    is_of_the_paper,
    table_names,
    table_query,
    tables_of,
)
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


def test_tables_of_another_family_leave_out_the_papers():
    general = general_tables()
    assert tables_of(["log_triage"]) == general == [name for name in table_names() if not is_of_the_paper(name)]
    assert tables_of([]) == tables_of(["knapsack", "log_triage"]) == table_names()
    of_the_paper = set(table_names()) - set(general)
    assert {
        "table_1",
        "figure_2",
        "claims",
        "failure_percentages",
        "failure_sensitivity",
        "predictions",
    } <= of_the_paper
    assert {"cells", "mechanism", "batches"} <= set(general)


def test_tables_of_the_two_papers_stand_apart():
    of_cave = table_names(is_cave=True)
    assert of_cave
    assert all(name.startswith("cave_") for name in of_cave)
    assert not any(name.startswith("cave_") for name in table_names())
    assert table_query(of_cave[0]).name == of_cave[0]


def test_a_command_is_read_by_its_name():
    assert command_sql("judged_episodes").startswith("--")
