"""What a model is told after a resume, note by note."""

import json
from typing import Any

import pytest

from carryover.tasks.cave.conversation import Entry
from carryover.tasks.cave.prompting import fill
from carryover.tasks.cave.saved import Restored, SavedAgent, SaveFile, bring_about
from carryover.tasks.cave.scripted import block
from carryover.tasks.runtime.engine import StateLostError
from carryover.tasks.runtime.objects import SharedMemory
from carryover.tasks.runtime.results import Difference


def differing(*places):
    return tuple(Difference(step, field, "was", "is") for step, field in places)


@pytest.mark.parametrize(
    ("restored", "notes"),
    [
        (Restored(), [fill("restored")]),
        (Restored(seconds=3.0), [fill("restored")]),
        (
            Restored(differing((1, "output"), (8, "state_hash"), (1, "error"), (8, "output"))),
            [fill("restored"), fill("restored_otherwise", steps="1, 8 (error, output, state_hash)")],
        ),
        (Restored(lost_names=("a", "b")), [fill("restored"), fill("names_lost", names="a, b")]),
        (Restored(missing_functions=("f", "g")), [fill("restored"), fill("functions_missing", names="f, g")]),
        (Restored(reason="it died"), [fill("state_lost", reason="it died", names="(none)")]),
        (
            Restored(differing((1, "output")), ("a", "b"), ("f",), "it died"),
            [fill("state_lost", reason="it died", names="a, b"), fill("functions_missing", names="f")],
        ),
    ],
)
def test_every_difference_is_a_note(restored, notes):
    assert restored.notes() == notes
    assert restored.is_exact is (notes == [fill("restored")])


@pytest.mark.parametrize("is_running", [False, True])
def test_a_block_that_ran_at_the_end_is_told_as_interrupted(open_agent, is_running):
    agent = open_agent("Done.")
    agent.ask("Go.")
    saved = agent._saved()
    saved.loop_state.is_running = is_running
    text = saved.text()
    notes = [Entry("observation", fill("interrupted"))] if is_running else []
    assert text.entries == [*saved.entries, *notes]
    assert text.question == "Go."


def content_of(binding):
    content = binding.content
    if isinstance(content, SharedMemory):
        return bytes(content.view())
    return content and bytes(content)


def comparable(saved):
    """Return a saved agent as values that compare by content."""
    inputs = [(entry, binding.message, content_of(binding)) for entry, binding in saved.inputs]
    return saved.spec, saved.loop_state, saved.entries, saved.question, inputs, saved.journal


def test_a_file_that_was_appended_to_reads_as_the_agent(open_agent, save_file, tmp_path):
    agent = open_agent(block("x = given[0]"), "One.", block("x += later"), "Two.", "Three.", save_to=save_file)
    agent.inject("given", [1, 2])
    agent.ask("First?")
    agent.inject("later", 5)
    agent.ask("Second?")
    assert comparable(SavedAgent.read(save_file)) == comparable(agent._saved())
    _, *appended = [json.loads(line)["entries"] for line in save_file.read_text().splitlines()]
    assert max(map(len, appended)) == 1
    agent.text.remove_old_outputs(0)
    agent.text.replace_oldest(3, "So far.")
    agent.loop_state.notes.append("a note")
    agent.ask("Third?")
    assert comparable(SavedAgent.read(save_file)) == comparable(agent._saved())
    agent.save(tmp_path / "other")
    assert comparable(SavedAgent.read(tmp_path / "other")) == comparable(agent._saved())
    lines = [json.loads(line) for line in save_file.read_text().splitlines()]
    assert [("version" in line, "spec" in line) for line in lines] == [
        (True, True),
        *[(False, False)] * (len(lines) - 1),
    ]
    assert sum(len(line["inputs"]) for line in lines) == 2
    assert len((tmp_path / "other").read_text().splitlines()) == 1


def test_a_file_says_while_a_block_runs(open_agent, save_file):
    open_agent(block("1"), block("1 / 0"), "Done.", save_to=save_file).ask("Go.")
    lines = [json.loads(line) for line in save_file.read_text().splitlines()]
    assert [line["course"]["is_running"] for line in lines] == [False, True, False, True, False, False]


@pytest.mark.parametrize("before", [["x = 1"], ["x = 1", "y = 1"]], ids=["other block", "fewer blocks"])
def test_a_file_follows_another_state_from_its_start(open_agent, save_file, before):
    file = SaveFile(save_file)
    states = []
    for script in (before, ["x = 2"]):
        agent = open_agent(*map(block, script), "Done.", name="same")
        agent.ask("Go.")
        states.append(agent._saved())
        file.write(states[-1])
    assert len(save_file.read_text().splitlines()) == 1
    assert comparable(SavedAgent.read(save_file)) == comparable(states[-1])


@pytest.mark.parametrize("content", ["", '{"version": 1', '{"version": 2}\n', "{}\n"])
def test_a_file_without_a_whole_line_of_this_version_is_refused(save_file, content):
    save_file.write_text(content)
    with pytest.raises(ValueError, match=r"agent\.jsonl is not an agent saved with version 1$"):
        SavedAgent.read(save_file)


@pytest.mark.parametrize(
    ("contract", "lost"), [("persistent", ("x",)), ("recent-1", ("x",)), ("stateless", ()), ("injected", ())]
)
def test_names_are_lost_where_a_contract_keeps_them(open_agent, contract, lost):
    agent = open_agent(block("x = 1"), "Done.", contract=contract)
    agent.ask("Go.")
    heard = []

    class Interpreter:
        """Replays nothing, and says that the state is lost."""

        def replay(self, journal, progress):
            heard.append((journal, progress))
            raise StateLostError("no state")

        def variables(self):
            return {}

    interpreter: Any = Interpreter()
    saved = agent._saved()
    restored = bring_about(saved, interpreter, {}, {}, progress)
    assert restored.seconds > 0
    assert restored._replace(seconds=0.0) == Restored(lost_names=lost, reason="no state")
    assert heard == [(saved.journal, progress)]


def progress(done, total):
    """Hear of nothing."""
