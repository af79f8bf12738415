from carryover.tasks.knapsack.environment import describe_tools


def test_tools_are_described_by_their_own_signatures():
    calls = {row["call"]: (row["arguments"], row["returns"]) for row in describe_tools()}
    assert calls == {
        "inspect": ("item_id: str", "str"),
        "take_item": ("item_id: str", "None"),
        "list_items": ("", "str"),
        "finish": ("", "None"),
    }
