"""Files and figures of an agent, and what its model is told of them."""

import hashlib

import pytest

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.prompting import system_prompt
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.surroundings import importable_libraries


@pytest.fixture(params=["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)])
def runtime_with_files(request):
    settings = AgentSpec().runtime.model_copy(update={"backend": request.param})
    runtime = open_runtime(settings.with_folder())
    yield runtime
    runtime.close()


DRAW = """\
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot([1, 2], [3, 4])
print(len(open('prices.csv').read()), file=open('length.txt', 'w'))"""


def test_files_go_in_and_out_and_figures_come_out(open_agent, runtime_with_files):
    agent = open_agent(block(DRAW), "Drawn.", on=runtime_with_files)
    agent.put("prices.csv", b"item,price")
    assert str(agent.ask("Draw.")) == "Drawn."
    files = {name: size for name, size in agent.files().items() if not name.startswith(".")}
    assert files == {"prices.csv": 10, "length.txt": 3}
    assert agent.get("length.txt") == b"10\n"
    (figure,) = agent.figures()
    assert figure.data["image/png"].startswith(b"\x89PNG")
    assert "<svg" in figure.data["image/svg+xml"]


def test_model_is_told_what_its_blocks_have(open_agent, watched, fork_tree):
    model = watched(scripted("Done."))
    open_agent(model).ask("Go.")
    told = model.requests[0].messages[0].content
    assert "<surroundings>\nFiles: none can be written.\n" in told
    assert "Time: a block is interrupted after 20 seconds." in told
    assert ", ".join(importable_libraries()) in told
    assert ("Network and other programs: none." in told) == (fork_tree.sandbox_level != "none")


def test_agent_has_files_where_nothing_else_is_said(watched):
    model = watched(scripted("Done."))
    with Agent(model) as agent:
        agent.ask("Go.")
    assert "Files: the working directory takes 64 MiB of them" in model.requests[0].messages[0].content


def test_prompt_of_a_study_says_nothing_of_surroundings(open_agent, watched):
    model = watched(scripted("Done."))
    open_agent(model, tells_surroundings=False, instructions="X").ask("Go.")
    (system, _) = model.requests[0].messages
    assert system.content == system_prompt([], {}, "X")
    assert hashlib.sha256(system.content.encode()).hexdigest()[:16] == "b10455eb97dd04cd"


def test_saved_agent_resumes_with_its_files(tmp_path, runtime_with_files):
    saved = tmp_path / "agent"
    code = "open('loud.txt', 'w').write(open('word.txt').read().upper())"
    with Agent(scripted(block(code), "Done."), save_to=saved, name="a", runtime=runtime_with_files) as agent:
        agent.inject("number", 1)
        agent.put("word.txt", b"hello")
        agent.ask("Go.")
        agent.inject("word", "later")
    with Agent.resume(saved, scripted(), runtime=runtime_with_files) as resumed:
        assert resumed.restored is not None
        assert resumed.restored.is_exact
        assert (resumed.get("word.txt"), resumed.get("loud.txt")) == (b"hello", b"HELLO")
