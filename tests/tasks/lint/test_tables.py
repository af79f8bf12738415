"""Findings as tables for a screen, as Markdown and as CSV."""

from typing import Any

from carryover.tasks.lint.tables import contract_table, episode_table

EPISODE: dict[str, Any] = {
    "trace_id": "a|b",
    "verdict": "takes `x`\nfrom block 1",
    "block_count": 3,
    "error_count": 0,
    "declared_contract": None,
    "contradiction": None,
    "failing_steps": "",
    "restated_share": 0.25,
    "is_stateless_safe": False,
}
DECLARED = EPISODE | {"trace_id": "c", "verdict": "no code", "block_count": 0, "declared_contract": "stateless"}
CONTRACTS: list[dict[str, Any]] = [
    {"declared_contract": "stateless", "trace_count": 2, "restated_share": 0.125},
    {"declared_contract": None, "trace_count": 1, "restated_share": None},
]


def test_columns_without_a_value_are_left_out():
    assert episode_table([EPISODE, DECLARED], "markdown", 80) == (
        "| trace id | verdict | block count | error count | declared contract |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| a\\|b | takes `x` from block 1 | 3 | 0 |  |\n"
        "| c | no code | 0 | 0 | stateless |\n"
    )


def test_csv_has_every_column_and_lower_case_booleans():
    assert episode_table([DECLARED], "csv", 80) == (
        "trace_id,verdict,block_count,error_count,declared_contract,contradiction,failing_steps,restated_share,"
        "is_stateless_safe\nc,no code,0,0,stateless,,,0.25,false\n"
    )
    assert contract_table(CONTRACTS, "csv", 80) == (
        "declared_contract,trace_count,restated_share\nstateless,2,0.125\n,1,\n"
    )


def test_contracts_are_columns_for_readers():
    assert contract_table(CONTRACTS, "markdown", 80) == (
        "| declared contract | stateless | none |\n| --- | --- | --- |\n| trace count | 2 | 1 |\n"
        "| restated share | 0.12 |  |\n"
    )


def test_a_screen_shows_the_table_in_its_width():
    shown = contract_table(CONTRACTS, "rich", 60)
    title, *lines = [line.strip() for line in shown.splitlines() if line.strip()]
    assert title == "contract lint"
    assert lines[0].split() == ["declared", "contract", "stateless", "none"]
    assert [line.split() for line in lines[2:]] == [["trace", "count", "2", "1"], ["restated", "share", "0.12"]]
    narrow = episode_table([EPISODE | {"verdict": "many words " * 9}], "rich", 50)
    assert max(map(len, narrow.splitlines())) <= 50
