"""One question on several branches of a state, side by side."""

from carryover.tasks.cave.comparing import compare
from carryover.tasks.cave.scripted import block, scripted


def test_continuations_stand_side_by_side(open_agent):
    agent = open_agent(block("numbers = [3, 1]\nspare = 0"), "Made.")
    agent.ask("Make numbers.")
    branches = agent.branch(4)
    codes = ["least = min(numbers)", "least = min(numbers)", "del spare\nnumbers = 'none'"]
    for branch, code in zip(branches, codes, strict=False):
        branch.client = scripted("", "", block(code), f"Ran {code[:3]}.")
    branches[3].client = scripted("", "", "I need no block.")
    first, second, third, fourth = found = compare("Find the least.", branches)
    assert [str(one.answer) for one in found] == ["Ran lea.", "Ran lea.", "Ran del.", "I need no block."]
    assert first.changed == {"least": "int"}
    assert third.changed == {"numbers": "str", "spare": None}
    assert fourth.changed == {}
    assert first.state_hash == second.state_hash != third.state_hash
    assert first.answer.completion_tokens == second.answer.completion_tokens > 0
    assert agent.variables() == {"numbers": "list", "spare": "int"}
