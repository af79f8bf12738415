"""Agent Skills: listed by name and description, read and injected when asked for."""

import os

import pytest

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.cave.skills import Skill, find_skills
from carryover.tasks.runtime.inside.tools import ToolRuntimeException
from carryover.tasks.runtime.process.descendants import descendants
from carryover.tasks.services.errors import UserError

SKILL = """---
name: {name}
description: >-
  Convert amounts
  between currencies.
license: MIT
---

Always round to two places. See rates.md.
"""
FUNCTIONS = '''
RATE = 2.0


def to_euros(amount: float) -> float:
    """Return an amount in euros."""
    return _scaled(amount)


def _scaled(amount):
    return amount * RATE


try:
    open("/tmp/ran-in-the-host", "w").close()
except OSError:
    pass  # the sandbox has no such folder
'''


@pytest.fixture
def skills(tmp_path):
    folder = tmp_path / "skills" / "currency"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL.format(name="currency"))
    (folder / "rates.md").write_text("Two to one.")
    (folder / "functions.py").write_text(FUNCTIONS.replace("/tmp/ran-in-the-host", str(tmp_path / "ran")))
    return folder.parent


def test_skill_is_listed_and_its_instructions_come_when_asked_for(open_agent, watched, skills, tmp_path):
    model = watched(scripted(block('use_skill("currency")'), block("print(to_euros(3))"), "6."))
    agent = open_agent(model, skills=skills)
    assert agent.ask("Convert 3.").text == "6."
    system, told = model.requests[0].messages[0].content, model.shown(1)
    assert "- currency: Convert amounts between currencies." in system
    assert "Always round" not in system
    assert '<skill name="currency">\nAlways round to two places. See rates.md.\n</skill>' in told
    assert "def to_euros(amount: float) -> float\n    Return an amount in euros." in told
    assert "_scaled" not in told
    assert "<output>\n6.0\n</output>" in model.shown()
    assert not (tmp_path / "ran").exists()


def test_missing_folder_of_skills_leaves_no_process_behind(tmp_path):
    before = set(descendants(os.getpid()))
    with pytest.raises(UserError, match="no folder of skills"):
        Agent(scripted("Done."), skills=tmp_path / "missing")
    assert before.issuperset(descendants(os.getpid()))


def test_resumed_agent_reads_its_skills(open_agent, watched, skills, tmp_path, fork_tree):
    first = open_agent(block('use_skill("currency")'), "Read.", skills=skills)
    first.ask("Read.")
    first.save(tmp_path / "saved")
    model = watched(scripted("", "", block("print(to_euros(3))"), block('use_skill("currency")'), "6."))
    with Agent.resume(tmp_path / "saved", model, runtime=fork_tree, skills=skills) as resumed:
        assert resumed.ask("Convert 3.").text == "6."
    assert "<output>\n6.0\n</output>" in model.shown(1)
    assert '<skill name="currency">' in model.shown()


def test_branch_reads_a_skill_for_itself(open_agent, skills):
    agent = open_agent(block('use_skill("currency")'), block("euros = to_euros(1)"), "Done.", skills=skills)
    branch = agent.branch(1)[0]
    branch.ask("Convert 1.")
    assert branch.retrieve("euros") == 2.0
    assert "to_euros" not in {entry.name for entry in agent.runtime.interpreter.injected}


def test_skill_files_are_read_by_name_within_the_skill_only(open_agent, watched, skills):
    reading = 'print(use_skill("currency", "rates.md"))\nuse_skill("currency", "../../secret")'
    model = watched(scripted(block(reading), "Done."))
    open_agent(model, skills=skills).ask("Go.")
    assert "Two to one." in model.shown()
    assert "skill currency has no file '../../secret'; it has SKILL.md, functions.py, rates.md" in model.shown()


def test_missing_file_of_a_skill_names_its_files_and_no_folder(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "more.md").write_text("More.")
    (tmp_path / "SKILL.md").write_text("Do it.")
    with pytest.raises(ToolRuntimeException, match=r"skill s has no file 'a'; it has SKILL.md, notes/more.md$"):
        Skill("s", "", "", tmp_path).read("a")


def test_bytes_that_are_no_text_are_replaced(tmp_path):
    (tmp_path / "notes.md").write_bytes(b"caf\xe9")
    assert Skill("s", "", "", tmp_path).read("notes.md") == "caf\ufffd"


def test_unknown_skill_is_refused_with_those_there_are(open_agent, watched, skills):
    model = watched(scripted(block('use_skill("cooking")'), "Done."))
    open_agent(model, skills=skills).ask("Go.")
    assert "unknown skill 'cooking'; choose from currency" in model.shown()


def test_skill_without_front_matter_is_refused(skills):
    (skills / "currency" / "SKILL.md").write_text("Just text.")
    with pytest.raises(UserError, match="needs front matter with a name and a description"):
        find_skills(skills)


def test_missing_folder_of_skills_is_refused(tmp_path):
    with pytest.raises(UserError, match="no folder of skills at"):
        find_skills(tmp_path / "nowhere")


def test_skill_whose_functions_fail_is_told_and_its_instructions_come(open_agent, watched, skills):
    (skills / "currency" / "functions.py").write_text("def broken(:")
    model = watched(scripted(block('use_skill("currency")'), "Done."))
    open_agent(model, skills=skills).ask("Go.")
    assert "Always round to two places." in model.shown()
    assert "functions.py could not be loaded: invalid syntax" in model.shown()


@pytest.mark.parametrize(
    ("text", "name", "description", "instructions"),
    [
        ("---\nname: a\ndescription: B.\n---\nDo it.\n", "a", "B.", "Do it."),
        ("\n---\nname: 'a b'\ndescription: \"B: c.\"\n---\n\nDo\n---\nit.\n\n", "a b", "B: c.", "Do\n---\nit."),
        ("---\nname: a\ndescription: |\n  B\n  c.\nother: x\n---", "a", "B c.", ""),
        ("---\n  indented\nname: a\nno key\ndescription: B.\n\tc\n---\n", "a", "B. c", ""),
    ],
)
def test_front_matter_gives_name_and_description(tmp_path, text, name, description, instructions):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "SKILL.md").write_text(text)
    assert find_skills(tmp_path) == {name: Skill(name, description, instructions, tmp_path / "one")}


@pytest.mark.parametrize(
    "text",
    [
        "name: a\ndescription: B.\n---\nDo it.",
        "Text.\n---\nname: a\ndescription: B.\n---\n",
        "---\nname: a\ndescription: B.\n",
        "---\nname: a\n---\n",
        "---\ndescription: B.\n---\n",
    ],
)
def test_a_skill_needs_name_and_description_in_its_front_matter(tmp_path, text):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "SKILL.md").write_text(text)
    with pytest.raises(UserError, match=r"one/SKILL\.md needs front matter with a name and a description"):
        find_skills(tmp_path)


def test_skills_stand_in_the_order_of_their_names(tmp_path):
    for folder, name in (("x", "b"), ("y", "a"), ("z", "c")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: D.\n---\n")
    (tmp_path / "SKILL.md").write_text("No folder of its own.")
    assert [*find_skills(tmp_path)] == ["a", "b", "c"]


TWICE = '''
def twice(x: int, *, y=1) -> int:
    """Double it.

    More.
    """
    return 2 * x
'''


def test_functions_are_told_with_their_documentation_and_once(open_agent, watched, tmp_path):
    folder = tmp_path / "sums"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: sums\ndescription: Sums.\n---\nAdd.")
    (folder / "b.py").write_text(
        'def twice(x: int, *, y=1) -> int:\n    """Double it.\n\n    More.\n    """\n    return 2 * x\n'
    )
    (folder / "a.py").write_text("def plain(x): return x\nclass Kept: pass\n")
    asking = block('use_skill("sums")\nuse_skill("sums")')
    model = watched(scripted(asking, asking, block("print(twice(plain(3)))"), "6."))
    agent = open_agent(model, skills=tmp_path)
    agent.ask("Go.")
    entries = [entry for entry in agent.runtime.interpreter.injected if entry.name != "use_skill"]
    assert [tuple(entry) for entry in entries] == [
        ("plain", "function", "", "def plain(x)"),
        (
            "twice",
            "function",
            "Double it.\n\nMore.",
            "def twice(x: int, *, y=1) -> int\n    Double it.\n\n    More.",
        ),
    ]
    assert model.shown(1).count('<skill name="sums">\nAdd.\n</skill>') == 2
    assert "<output>\n6\n</output>" in model.shown()
