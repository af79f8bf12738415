"""Which process is forked, asked and ended for the next block, with stand-ins for processes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.runtime.fork_tree import processes
from carryover.tasks.runtime.fork_tree.processes import (
    Fork,
    FreshProcesses,
    FrozenProcess,
    LiveProcesses,
    _worth_of_copy,
)
from carryover.tasks.runtime.process.node import Canaries, ForkState, NodeGoneError, open_connection


class Node:
    """A process by its name; it keeps in the common log what is done to it."""

    def __init__(self, name, log):
        self.name = name
        self.log = log
        self.answers = {"resume": {"pipes": [], "changed": [], "held": []}}
        self.threads = 1

    def ask(self, message, *descriptors):
        self.log.append((self.name, *message))
        return self.answers.get(message[0])

    def end(self):
        self.log.append((self.name, "ended"))

    def close(self):
        self.log.append((self.name, "closed"))

    def thread_count(self):
        return self.threads

    def process_id(self):
        return 1


@pytest.fixture
def tree(monkeypatch):
    """A root, a log of what is done, and the facts of forks to come."""
    log = []
    tree = SimpleNamespace(log=log, root=Node("root", log), count=0, states=[], nodes=[], is_gone=False)

    class Fork:
        def __init__(self, parent, *, is_sweep=False, dropped=(), output=None):
            tree.count += 1
            self.name = f"{parent.name}.{tree.count}"
            self.channel = SimpleNamespace(close=lambda: log.append((self.name, "left")))
            log.append((parent.name, "forks", self.name, is_sweep, dropped, output))

        def take(self):
            if tree.is_gone:
                raise NodeGoneError("gone")
            state = tree.states.pop(0) if tree.states else fork_state()
            tree.nodes.append(Node(self.name, log))
            return tree.nodes[-1], state

    monkeypatch.setattr(processes, "Fork", Fork)
    monkeypatch.setattr(processes, "end_strays", lambda root: log.append((root.name, "strays ended")))
    monkeypatch.setattr(processes, "shared_mappings", lambda process: [])
    return tree


def fork_state(**changes):
    values = {"canaries": Canaries("word", None), "thread_count": 1, "has_strays": False, "has_output": True}
    return ForkState(**{**values, **changes})


OUTPUT: Any = SimpleNamespace(renew=lambda: 5)


def fresh(tree, *, restores_files=False) -> Any:
    return FreshProcesses(tree.root, OUTPUT, restores_files=restores_files)


def test_a_fresh_process_is_forked_ahead_and_taken_once(tree):
    made = fresh(tree)
    assert tree.log == [("root", "forks", "root.1", False, (), None)]
    node = made.next()
    assert (node.name, made.next() is node, made.canaries) == ("root.1", True, Canaries("word", None))
    assert made.holders() == (tree.root,)
    made.finish(None)
    assert tree.log[1:] == [("root.1", "closed"), ("root", "forks", "root.2", True, (), 5)]
    made.finish(None)
    assert len(tree.log) == 3  # the next one waits already
    made.close()
    assert tree.log[3:] == [("root.2", "left")]


def test_strays_of_the_block_before_are_ended(tree):
    tree.states = [fork_state(has_strays=True)]
    fresh(tree).next()
    assert tree.log[-1] == ("root", "strays ended")


def test_without_a_process_the_root_is_gone(tree):
    made = fresh(tree)
    tree.is_gone = True
    with pytest.raises(NodeGoneError, match=r"^gone$"):
        made.next()
    with pytest.raises(NodeGoneError, match=r"^the root is gone$"):
        made.next()
    assert made.roll_back() == "complete"


@pytest.mark.parametrize("restores_files", [True, False])
def test_files_are_put_back_once_their_block_has_ended(tree, restores_files):
    made = fresh(tree, restores_files=restores_files)
    assert made.roll_back() == "complete"  # no block has begun
    assert len(tree.log) == 1
    made.next()
    tree.log.clear()
    assert made.roll_back() == "complete"
    ended = [("root.1", "ended"), ("root", "restore")] if restores_files else []
    assert tree.log == [*ended, ("root.1", "closed"), ("root", "forks", "root.2", True, (), 5)]
    made.next()
    made.close()
    assert tree.log[-1] == ("root.2", "closed")


def test_files_that_cannot_be_put_back_end_the_episode(tree):
    made = fresh(tree, restores_files=True)
    made.next()
    tree.root.answers["restore"] = "no room"
    with pytest.raises(NodeGoneError, match=r"^no room$"):
        made.roll_back()


def test_a_live_process_runs_while_its_copy_waits(tree):
    made: Any = LiveProcesses(tree.root, 7)
    assert [entry[1] for entry in tree.log] == ["forks", "forks"]
    live = made.next()
    assert live.name == "root.1"
    assert made.next() is live
    assert made.holders() == (tree.root, live)
    tree.log.clear()
    made.finish(["x"])
    assert tree.log == [("root.1", "forks", "root.1.3", False, ["x"], None), ("root.1.2", "closed")]
    tree.log.clear()
    made.next()
    made.close()
    assert tree.log == [("root.1.3", "closed"), ("root.1", "closed")]


def test_going_back_goes_on_from_the_copy(tree):
    made: Any = LiveProcesses(tree.root, 7)
    made.next()
    tree.log.clear()
    tree.states = [fork_state(canaries=Canaries("again", None))]
    assert made.roll_back() == "complete"
    assert tree.log == [
        ("root.1", "closed"), ("root", "strays ended"), ("root.1.2", "forks", "root.1.2.3", False, (), 7),
        ("root.1.2.3", "resume"),
    ]  # fmt: skip
    assert (made.next().name, made.is_resumed, made.canaries) == ("root.1.2.3", True, Canaries("again", None))


def test_a_kill_before_the_copy_is_made_loses_the_state(tree):
    made: Any = LiveProcesses(tree.root, 7)
    made.next()
    made.finish(())
    tree.is_gone = True
    with pytest.raises(NodeGoneError, match=r"^gone$"):
        made.next()
    with pytest.raises(NodeGoneError, match=r"^the process ended between two steps$"):
        made.next()
    tree.log.clear()
    with pytest.raises(NodeGoneError, match=r"^no copy of the state is left$"):
        made.roll_back()
    assert tree.log == [("root.1", "closed"), ("root", "strays ended")]


def test_a_copy_without_output_is_made_again(tree):
    made: Any = LiveProcesses(tree.root, 7)
    tree.states = [fork_state(has_output=False)]
    tree.log.clear()
    made.next()
    assert tree.log == [
        ("root.1.2", "closed"), ("root.1", "output"), ("root.1", "forks", "root.1.3", False, (), None),
    ]  # fmt: skip


def test_a_copy_whose_threads_are_gone_is_frozen_anew(tree):
    made: Any = LiveProcesses(tree.root, 7)
    tree.nodes[0].threads = 2
    tree.states = [fork_state(thread_count=2), fork_state()]
    first = made.freeze()
    assert (first.worth, first.process.is_shared) == ("incomplete", True)
    tree.nodes[0].threads = 1
    tree.states = [fork_state()]
    assert made.freeze().worth == "complete"


@pytest.mark.parametrize(
    ("threads", "known", "worth"),
    [(1, 1, "complete"), (2, 2, "without_threads"), (3, 2, "incomplete"), (2, 1, "incomplete")],
)
def test_a_copy_is_worth_what_its_threads_were(threads, known, worth):
    assert _worth_of_copy(threads, known) == worth


def test_a_template_ends_with_the_last_who_uses_it(tree):
    frozen: Any = FrozenProcess(tree.root)
    assert not frozen.is_shared
    assert frozen.share() is frozen
    assert frozen.is_shared
    frozen.release()
    assert tree.log == []
    frozen.release()
    assert tree.log == [("root", "closed")]


def test_a_template_that_does_not_fork_is_ended(tree):
    frozen: Any = FrozenProcess(tree.root)
    assert frozen.fork(3)[0].name == "root.1"
    assert tree.log == [("root", "forks", "root.1", False, (), 3)]
    tree.is_gone = True
    with pytest.raises(NodeGoneError):
        frozen.fork(3)
    assert tree.log[-1] == ("root", "ended")


def notices(tree, monkeypatch, *, is_branch, mappings=(), **answer):
    live: Any = Node("live", tree.log)
    live.answers["resume"] = {"pipes": [], "changed": [], "held": [], **answer}
    monkeypatch.setattr(processes, "shared_mappings", lambda process: list(mappings))
    return processes._notices_on_shared(live, is_branch=is_branch)


def test_shared_pipes_files_and_memory_are_told(tree, monkeypatch):
    both = {"pipes": [3, 4], "changed": [5]}
    shared = processes.notices.PIPES_SHARED.format(descriptors="3, 4")
    changed = processes.notices.PIPES_CHANGED.format(descriptors="5")
    assert notices(tree, monkeypatch, is_branch=True, **both) == [shared]
    assert notices(tree, monkeypatch, is_branch=False, **both) == [changed]
    assert notices(tree, monkeypatch, is_branch=False) == []
    memory = processes.notices.MEMORY_SHARED.format(size=30)
    mappings = [(100, 10), (200, 20), (300, 40)]
    assert notices(tree, monkeypatch, is_branch=True, mappings=mappings, held=[(300, 40)]) == [memory]
    found = notices(tree, monkeypatch, is_branch=True, mappings=mappings, held=[(300, 40)], pipes=[3, 4])
    assert found == [shared, memory]


@pytest.mark.parametrize(
    "answer",
    [
        {"pipes": ["3"]}, {"changed": [None]}, {"pipes": [True]}, {"pipes": list(range(10_000))}, {"held": 3},
        {"pipes": 3},
    ],
)  # fmt: skip
def test_a_malformed_answer_about_what_is_shared_is_none(tree, monkeypatch, answer):
    with pytest.raises(NodeGoneError, match=r"^not an answer about what is shared: \{'pipes': "):
        notices(tree, monkeypatch, is_branch=True, **answer)


def open_descriptors() -> set[str]:
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def test_a_fork_that_is_not_to_be_had_leaves_no_descriptor_open():
    def refuse(*_: object) -> None:
        raise NodeGoneError("gone")

    ours, theirs = open_connection()
    theirs.close()
    before = open_descriptors()
    parent: Any = SimpleNamespace(send=refuse, channel=ours, resume=lambda: None)
    with pytest.raises(NodeGoneError) as unsent:
        Fork(parent)
    assert (open_descriptors(), unsent.type) == (before, NodeGoneError)
    parent.send = lambda *_: None
    fork = Fork(parent)
    with pytest.raises(NodeGoneError):
        fork.take()
    assert open_descriptors() == before
    ours.close()
