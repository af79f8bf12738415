"""Long conversations: the text is compacted, the runtime keeps everything."""

import re

from carryover.tasks.agent.events import Compacted
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.conversation import Entry, SemanticStream
from carryover.tasks.cave.scripted import block, count_tokens, scripted_by
from carryover.tasks.traces.vocabulary import FinishReason

WINDOW = 16_000


def converse(messages) -> str:
    """Play a user's assistant: store the note of each turn, print much about it, and look old notes up."""
    last = messages[-1].content
    if "Write a summary that replaces it" in last:
        return "Notes of many turns were stored in the dict notes, by turn."
    if "<output>" in last:
        return f"I have it: {last.split('<output>')[1].split('</output>')[0].strip()[:80]}"
    wanted = re.findall(r"What was note (\d+)\?", last)
    if wanted:
        return block(f"print(notes[{wanted[-1]}])")
    turn, note = re.findall(r"Note (\d+): (\w+)\.", last)[-1]
    return block(f"notes[{turn}] = {note!r}\nprint('stored', len(notes), 'x' * 700)", thought="y" * 200)


def test_turn_one_survives_three_hundred_turns_in_a_small_window(open_agent, watched):
    model = watched(scripted_by(converse))
    agent = open_agent(model, spec=AgentSpec(context_window=WINDOW))
    agent.inject("notes", {})
    compactions = []
    for turn in range(1, 301):
        answer = agent.ask(f"Note {turn}: word{turn}.", compactions.append)
        assert answer.stop == FinishReason.ANSWER
    assert agent.ask("What was note 1?").text == "I have it: word1"
    assert len(agent.retrieve("notes")) == 300
    assert max(count_tokens(request.messages) for request in model.requests) <= 0.75 * WINDOW
    assert "word1." not in "".join(message.content for message in model.requests[-1].messages)
    compactions = [event for event in compactions if isinstance(event, Compacted)]
    assert any(event.is_summarized for event in compactions)
    assert len(compactions) < 30


def test_old_outputs_go_first_and_the_newest_stay(open_agent, watched):
    def model(messages):
        done = sum(message.role == "assistant" for message in messages)
        return block(f"print('{done} ' * 600)") if done < 12 else "Done."

    watching = watched(scripted_by(model))
    events = []
    spec = AgentSpec(context_window=4000, kept_observations=1, max_steps=20)
    open_agent(watching, spec=spec).ask("Go.", events.append)
    compacted = [event for event in events if isinstance(event, Compacted)]
    assert compacted[0].removed_output_count > 0
    assert not compacted[0].is_summarized
    shown = [message.content for message in watching.requests[-1].messages]
    assert "An output of" in shown[3]
    assert "11 11 11" in shown[-1]


def test_summary_keeps_the_latest_question_and_lists_living_names(open_agent, watched):
    def model(messages):
        if "Write a summary" in messages[-1].content:
            return "Three blocks ran."
        return "Done." if "Three blocks ran." in messages[1].content else block("kept = 1.5", thought="z" * 900)

    watching = watched(scripted_by(model))
    spec = AgentSpec(context_window=3000, max_steps=40)
    assert open_agent(watching, spec=spec).ask("Find the answer to everything.").text == "Done."
    summary = watching.requests[-1].messages[1].content
    assert "kept: float" in summary
    assert "Find the answer to everything." in summary


def test_failed_summary_is_said_to_be_missing(open_agent, broken_model, watched):
    class Half:
        model_name, token_source = "half", "server"

        async def complete(self, request):
            if "Write a summary" in request.messages[-1].content:
                return await broken_model.complete(request)
            is_short = "removed without a summary" in request.messages[1].content
            return await scripted_by(lambda _: "Done." if is_short else block("1", thought="z" * 900)).complete(request)

    spec = AgentSpec(context_window=3000, max_steps=40)
    assert open_agent(watched(Half()), spec=spec).ask("Go.").text == "Done."


def test_roles_alternate_whatever_is_removed():
    entries = [Entry("system", "s"), Entry("question", "q")]
    for number in range(20):
        entries += [Entry("reply", f"r{number}"), Entry("observation", f"o{number}")]
    stream = SemanticStream(entries)
    while older := stream.older_half():
        stream.replace_oldest(len(older), "summary")
        roles = [message.role for message in stream.messages()]
        assert roles[:1] + roles[1::2] + roles[2::2] == ["system"] + ["user"] * (len(roles) // 2) + ["assistant"] * (
            (len(roles) - 1) // 2
        )
    assert [entry.text for entry in stream.entries[-4:]] == ["r18", "o18", "r19", "o19"]


def test_estimate_follows_what_the_endpoint_counted():
    stream = SemanticStream([Entry("system", "a" * 400)])
    assert stream.token_count() == 100
    stream.calibrate(200)
    stream.add("question", "b" * 100)
    assert stream.token_count() == 250
