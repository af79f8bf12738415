"""What ends with an agent, and what stays."""

import pytest

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.scripted import block, scripted


def is_closed(agent):
    try:
        agent.runtime.interpreter.run_block("1")
    except ValueError as error:
        return str(error) == "the interpreter is closed; open another one"
    return False


def opened(runtime, **options):
    return Agent(scripted(block("x = 1"), "Done."), runtime=runtime, **options)


def test_the_end_of_a_context_closes_the_agent(fork_tree):
    with opened(fork_tree) as agent:
        assert not is_closed(agent)
    assert is_closed(agent)
    with opened(fork_tree) as other:  # a shared runtime stays open
        assert other.ask("Go.").text == "Done."


@pytest.mark.parametrize("is_whole", [False, True])
def test_a_branch_ends_alone_or_with_its_agent(fork_tree, is_whole):
    with opened(fork_tree) as agent:
        first, second = agent.branch(2)
        first.close()
        assert [is_closed(each) for each in (agent, first, second)] == [False, True, False]
        if is_whole:
            agent.close()
            assert is_closed(second)
    assert is_closed(agent)


def test_a_peer_leaves_the_interpreter_open(fork_tree):
    with opened(fork_tree, instructions="Be brief.") as agent:
        model = scripted("Hi.")
        told = [
            (peer.client, peer.instructions, peer.loop_state.name)
            for peer in (agent.peer("b"), agent.peer("c", model=model, instructions="Be kind."))
        ]
        assert told == [(agent.client, "", "b"), (model, "Be kind.", "c")]
        agent.peer("d").close()
        assert not is_closed(agent)


def test_an_agent_derived_from_another_has_said_nothing_and_saves_nothing(fork_tree, save_file):
    with opened(fork_tree, save_to=save_file) as agent:
        agent.ask("Go.")
        saved = save_file.read_text()
        (branch,) = agent.branch(1)
        branch.client = scripted("", "", "Hi.")
        assert branch.text.entries == agent.text.entries
        branch.ask("Hello?")
        peer = agent.peer("b", model=scripted("Hi."))
        assert peer.text.entries == []
        peer.ask("Hello?")
        assert save_file.read_text() == saved
        assert (agent.text.question, branch.text.question, peer.text.question) == ("Go.", "Hello?", "Hello?")
        assert [each.loop_state.name for each in (*branch.branch(2), *agent.branch(2))] == [
            "agent/0/0", "agent/0/1", "agent/1", "agent/2",
        ]  # fmt: skip
