from carryover.tasks.knapsack.environment import KnapsackEnvironment, describe_tools


def test_tools_are_described_by_their_own_signatures():
    calls = {row["call"]: (row["arguments"], row["returns"]) for row in describe_tools()}
    assert calls == {
        "inspect": ("item_id: str", "str"),
        "take_item": ("item_id: str", "None"),
        "list_items": ("", "str"),
        "finish": ("", "None"),
    }


def test_tools_are_described_by_the_first_line_of_their_documentation():
    summaries = {row["call"]: row["summary"] for row in describe_tools()}
    assert all(summaries.values())
    assert not any("\n" in summary for summary in summaries.values())
    assert summaries["finish"] == (KnapsackEnvironment.finish.__doc__ or "").strip().partition("\n")[0]
