"""Saving, resuming after a crash, and naming what was lost."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.saved import Restored
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.traces.vocabulary import FinishReason
from tests.flattening import flat


def double(number: int) -> int:
    """Return twice the number."""
    return 2 * number


def test_saved_agent_goes_on_with_its_objects(open_agent, watched, save_file, either_runtime):
    agent = open_agent(block("frame['b'] = frame.a * 2\ntwice = double(21)"), "Done.", on=either_runtime)
    agent.inject("frame", pd.DataFrame({"a": [1, 2]}))
    agent.inject("double", double)
    agent.ask("Double.")
    agent.save(save_file)
    model = watched(scripted("", "Done.", block("print(frame.b.sum(), twice, double(1))"), "6 42 2"))
    resumed = Agent.resume(save_file, model, functions={"double": double}, runtime=either_runtime)
    assert restored_of(resumed).is_exact
    assert resumed.ask("Print.").text == "6 42 2"
    assert "<output>\n6 42 2\n</output>" in model.shown()
    assert "run again with their recorded function results" in model.requests[0].messages[-1].content
    assert resumed.retrieve("twice") == 42
    resumed.close()


@dataclass
class Point:
    """A place."""

    x: int


def test_objects_of_a_type_given_again_come_back_as_such(open_agent, save_file, fork_tree):
    agent = open_agent(block("place = Point(1)"), "Done.")
    agent.inject("Point", Point)
    agent.ask("Go.")
    agent.save(save_file)
    with Agent.resume(save_file, scripted("Done."), types={"Point": Point}, runtime=fork_tree) as resumed:
        assert resumed.retrieve("place") == Point(1)


@pytest.mark.parametrize("contract", ["stateless", "injected+persistent"])
def test_agent_resumes_under_the_contract_of_its_file(open_agent, save_file, fork_tree, contract):
    agent = open_agent(block("x = given + 1"), "Done.", contract=contract)
    agent.inject("given", 1)
    agent.ask("Add.")
    agent.save(save_file)
    with Agent.resume(save_file, scripted("Done."), runtime=fork_tree) as resumed:
        assert resumed.runtime.interpreter.contract == agent.runtime.interpreter.contract
        assert restored_of(resumed).is_exact
        assert resumed.variables() == agent.variables()


def test_saved_file_holds_messages_inputs_and_journal_in_one_file(open_agent, save_file):
    agent = open_agent(block("x = 1"), "Done.")
    agent.inject("given", [1, 2])
    agent.ask("Go.")
    agent.save(save_file)
    record = json.loads(save_file.read_text())
    assert [kind for kind, _ in record["entries"]] == ["system", "question", "reply", "observation", "reply"]
    assert [content["message"][1] for content in record["inputs"]] == ["given"]
    assert [done["kind"] for done in record["journal"]] == ["installed", "ran"]


def test_a_function_not_given_again_is_named_to_the_model(open_agent, watched, save_file, fork_tree):
    agent = open_agent(block("x = double(4)"), "Done.")
    agent.inject("double", double)
    agent.ask("Go.")
    agent.save(save_file)
    model = watched(scripted("", "", block("double(x)"), "It fails."))
    with Agent.resume(save_file, model, runtime=fork_tree) as resumed:
        assert restored_of(resumed).missing_functions == ("double",)
        resumed.ask("Go on.")
        assert resumed.retrieve("x") == 8
    assert "not available any more and fail when called: double" in model.requests[0].messages[-1].content
    assert "ToolInvocationException" in model.shown()


def test_what_comes_out_otherwise_is_named_to_the_model(open_agent, watched, save_file, fork_tree):
    agent = open_agent(block("import time\nstarted = time.time_ns()\nprint(started)"), "Done.")
    agent.ask("When?")
    agent.save(save_file)
    model = watched(scripted("", "", "I will look again."))
    with Agent.resume(save_file, model, runtime=fork_tree) as resumed:
        fields = {difference.field for difference in restored_of(resumed).differences}
        assert fields == {"output", "state_hash", "variable started"}
        resumed.ask("Still?")
    assert "these steps showed something else: 1 (output, state_hash, variable started)" in model.shown()


def test_a_lost_name_is_named_to_the_model(open_agent, watched, save_file, fork_tree):
    first_time = "import time\nif time.time() < {limit}: fleeting = 1\nkept = 2"
    agent = open_agent(block(first_time.format(limit=time.time() + 5)), "Done.")
    agent.ask("Go.")
    agent.save(save_file)
    save_file.write_text(save_file.read_text().replace("< 1", "< -1"))
    model = watched(scripted("", "", "I see."))
    with Agent.resume(save_file, model, runtime=fork_tree) as resumed:
        assert restored_of(resumed).lost_names == ("fleeting",)
        resumed.ask("Go on.")
    assert "These names could not be restored: fleeting." in model.shown()


def restored_of(agent: Agent) -> Restored:
    assert agent.restored is not None
    return agent.restored


CHILD = """
    import os, sys, time
    from carryover.tasks.cave.agent import Agent
    from carryover.tasks.cave.scripted import block, scripted_by

    def write(messages):
        done = sum(message.role == "assistant" for message in messages)
        print(done, flush=True)
        return block(f"values[{done}] = pulse({done})\\nprint(len(values))")

    def pulse(number):
        time.sleep(0.01)
        return number * number

    agent = Agent(scripted_by(write), save_to=sys.argv[1])
    agent.inject("values", {})
    agent.inject("pulse", pulse)
    agent.spec = agent.spec.model_copy(update={"max_steps": 10_000})
    agent.ask("Fill values.")
"""


def start_and_kill(save_file, wanted_replies: int) -> int:
    """Kill an agent's process while it works; return how many replies it had asked for."""
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(save_file)],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert child.stdout is not None
    asked = 0
    for line in child.stdout:
        asked = int(line)
        if asked >= wanted_replies:
            break
    time.sleep(0.002 * wanted_replies)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    return asked


@pytest.mark.parametrize("wanted", [1, 4])
def test_killed_agent_resumes_to_what_its_file_says(save_file, fork_tree, watched, wanted):
    asked = start_and_kill(save_file, wanted)
    model = watched(scripted(*["unused"] * asked, *["I go on."] * 9))
    with Agent.resume(save_file, model, functions={"pulse": abs}, runtime=fork_tree) as resumed:
        assert restored_of(resumed).is_exact
        values = resumed.retrieve("values")
        assert values == {number: number * number for number in range(len(values))}
        assert len(values) >= wanted - 1
        assert resumed.go_on().text == "I go on."
    is_told_of_the_last_block = "ended while the last block ran" in model.shown()
    replies = sum(message.role == "assistant" for message in model.requests[0].messages)
    assert replies == len(values) + is_told_of_the_last_block


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_hundred_kills_resume_or_name_what_was_lost(tmp_path, fork_tree, watched):
    for number in range(100):
        test_killed_agent_resumes_to_what_its_file_says(tmp_path / f"{number}", fork_tree, watched, 1 + number % 13)


def test_torn_last_line_costs_nothing_before_it(open_agent, save_file, fork_tree):
    agent = open_agent(block("x = 1"), block("y = 2"), "Done.", save_to=save_file)
    agent.ask("Go.")
    content = save_file.read_bytes()
    save_file.write_bytes(content[: len(content) - 20])
    with Agent.resume(save_file, scripted("", "", "Done."), runtime=fork_tree) as resumed:
        assert resumed.variables() == {"x": "int", "y": "int"}
        assert resumed.go_on().text == "Done."


def test_appended_step_is_on_disk_before_the_next_reply(open_agent, save_file, monkeypatch):
    synced = []
    fsync = os.fsync

    def noted_fsync(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    agent = open_agent(block("x = 1"), "Done.", "Done.", save_to=save_file)
    agent.ask("Go.")
    monkeypatch.setattr(os, "fsync", noted_fsync)
    agent.ask("Go on.")
    assert set(synced) == {save_file}


def test_step_appends_as_much_late_as_early(open_agent, save_file):
    agent = open_agent(*[block("x = 1")] * 40, "Done.", save_to=save_file)
    agent.spec = agent.spec.model_copy(update={"max_steps": 100})
    agent.ask("Go.")
    sizes = [len(line) for line in save_file.read_text().splitlines()]
    assert len(sizes) > 80
    assert max(sizes[2:]) < 1.2 * sizes[2] + 500


def test_file_that_is_no_saved_agent_is_refused(tmp_path):
    (tmp_path / "other").write_text('{"version": 99}\n')
    with pytest.raises(ValueError, match="is not an agent saved with version 1"):
        Agent.resume(tmp_path / "other", scripted())


@pytest.mark.parametrize("room", [1, 40, 500, 1000])
def test_a_failed_write_spoils_neither_file_nor_next_write(open_agent, save_file, fork_tree, room, limit_file_size):
    """The disk is full for a question, whatever part of a line had room."""
    steps = flat((block(f"x = {number}"), "Done.") for number in range(3))
    agent = open_agent(*steps, save_to=save_file)
    agent.ask("Go.")
    with limit_file_size(save_file.stat().st_size + room):
        answer = agent.ask("Go on.")
    assert (answer.stop, "File too large" in answer.text) == (FinishReason.ERROR, True)
    with Agent.resume(save_file, scripted(""), runtime=fork_tree) as resumed:
        assert restored_of(resumed).is_exact
    agent.ask("Once more.")
    with Agent.resume(save_file, scripted(""), runtime=fork_tree) as resumed:
        assert restored_of(resumed).is_exact
        assert resumed.retrieve("x") == agent.retrieve("x")
        assert resumed.text.entries == agent.text.entries


class Shop:
    """A shop that stays in the host."""

    def __init__(self):
        self.sold = []

    def sell(self, item):
        """Note a sale."""
        self.sold.append(item)
        return len(self.sold)


def test_live_object_is_given_again_at_resume(open_agent, save_file, fork_tree):
    agent = open_agent(block("count = shop.sell('tea')"), "Sold.", save_to=save_file)
    shop = Shop()
    agent.inject("shop", shop, by="reference", allow=("sell",))
    agent.ask("Sell tea.")
    again = Shop()
    model = scripted(block("count = shop.sell('tea')"), "Sold.", block("count = shop.sell('milk')"), "Sold.")
    with Agent.resume(save_file, model, functions={"shop": again}, runtime=fork_tree) as resumed:
        assert resumed.restored is not None
        assert resumed.restored.is_exact
        assert (resumed.retrieve("count"), again.sold) == (1, [])
        resumed.ask("Sell milk.")
        assert (shop.sold, again.sold) == (["tea"], ["milk"])
        error = resumed.runtime.interpreter.run_block("shop.sold").error
        assert error is not None
        assert error.type == "AttributeError"


def test_live_object_that_is_not_given_again_is_named(open_agent, save_file, fork_tree):
    agent = open_agent(block("count = shop.sell('tea')"), "Sold.", save_to=save_file)
    agent.inject("shop", Shop(), by="reference")
    agent.ask("Sell tea.")
    with Agent.resume(save_file, scripted("Done."), runtime=fork_tree) as resumed:
        assert resumed.restored is not None
        assert resumed.restored.missing_functions == ("shop",)
        error = resumed.runtime.interpreter.run_block("shop.sell('milk')").error
        assert error is not None
        assert "shop is not there any more" in error.message
