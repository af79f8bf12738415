"""What an agent's speaker says and keeps, without an interpreter."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from carryover.tasks.agent.condition import decoding_seed
from carryover.tasks.agent.events import Acted, Asked, Compacted
from carryover.tasks.agent.machine import Limits
from carryover.tasks.agent.protocol import Completion, CompletionRequest, Message
from carryover.tasks.agent.reply import Reply
from carryover.tasks.agent.runtime_stream import Posted
from carryover.tasks.agent.stops import Stopped
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.conversation import Entry, SemanticStream
from carryover.tasks.cave.prompting import fill, observation, system_prompt
from carryover.tasks.cave.speaker import CaveSpeaker, LoopState, compaction_limit, question_limits
from carryover.tasks.runtime.contract import CONTRACTS
from carryover.tasks.runtime.describe import Injected
from carryover.tasks.runtime.results import BlockResult
from carryover.tasks.traces.vocabulary import FinishReason

SPEC = AgentSpec(context_window=2000, temperature=0.5, max_completion_tokens=70, kept_observations=1)
ORDERS, LATE = (Injected(name, "variable", "", f"{name}: int") for name in ("orders", "late"))


class Idle:
    """An interpreter between two blocks."""

    def __init__(self, contract="persistent", names=()):
        self.contract = CONTRACTS[contract]
        self.injected = [ORDERS]
        self._names = names

    def variables(self):
        return dict.fromkeys(self._names, "int")

    def surroundings(self):
        return "No network."


@pytest.fixture
def checkpoints():
    return []


@pytest.fixture
def speak(checkpoints):
    def speak(question="Go.", entries=(), names=(), contract="persistent", **options) -> Any:
        idle = Idle(contract, names)
        runtime: Any = SimpleNamespace(interpreter=idle, idle=idle, posted=[])
        return CaveSpeaker(
            question, SemanticStream(entries), runtime, LoopState("me", reply_count=4), SPEC, "Be brief.",
            {"plot": "Draw."}, lambda: checkpoints.append(True), **options,
        )  # fmt: skip

    return speak


def test_a_branch_and_a_resumed_agent_go_on_from_a_state():
    state = LoopState("me", 4, 2, is_running=True, notes=["a"], heard_count=3)
    copied = state.copy("other")
    assert copied == LoopState("other", 4, 2, is_running=True, notes=["a"], heard_count=3)
    copied.notes.append("b")
    assert state.resumed(["c"]) == LoopState("me", 4, 2, is_running=False, notes=["a", "c"], heard_count=0)
    assert state.notes == ["a"]


@pytest.mark.parametrize(("is_compacted", "window", "share"), [(True, 2000, 1500), (False, None, None)])
def test_a_question_has_the_budgets_of_its_spec(is_compacted, window, share):
    spec = SPEC.model_copy(update={"max_steps": 7, "max_tokens": 900, "timeout_seconds": 8.0})
    assert question_limits(spec, is_compacted=is_compacted) == Limits(
        replies=7,
        replies_spent=FinishReason.MAX_STEPS,
        tokens=900,
        seconds=8.0,
        context_tokens=window,
        shorten_above=share,
    )
    assert compaction_limit(spec) == 1500


@pytest.mark.parametrize("tells_surroundings", [False, True])
@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_the_first_question_opens_the_conversation(speak, checkpoints, contract, tells_surroundings):
    speaker = speak(contract=contract, tells_surroundings=tells_surroundings)
    assert speaker.ask() == Asked("Go.")
    system = system_prompt(
        [ORDERS], {"plot": "Draw."}, "Be brief.", keeps_names=contract == "persistent",
        surroundings="No network." if tells_surroundings else "",
    )  # fmt: skip
    assert speaker.text.entries == [Entry("system", system), Entry("question", "Go.")]
    assert (speaker.text.question, speaker.loop_state.told_count, checkpoints) == ("Go.", 1, [True])


def test_a_later_question_comes_with_what_is_new(speak):
    expected: Any = SimpleNamespace(request=lambda: "Bind it.")
    entries = [Entry("system", "S"), Entry("question", "Q"), Entry("reply", "R")]
    speaker = speak("More.", entries, expected=expected)
    speaker.loop_state.notes.append("a note")
    speaker.runtime.posted += [Posted("me", ("mine",)), Posted("Lin", ("a", "b")), Posted("Omar", ())]
    speaker.loop_state.told_count = 1
    speaker.runtime.interpreter.injected.append(LATE)
    bound = fill("bound_by", name="Lin", names="a, b")
    parts = [fill("notice", text="a note"), fill("notice", text=bound), fill("new_objects", entries="late: int")]
    text = "\n\n".join([*parts, "More.", "Bind it."])
    assert speaker.ask() == Asked(text)
    assert speaker.text.entries == [*entries, Entry("question", text)]
    state = speaker.loop_state
    assert (state.notes, state.told_count, state.heard_count) == ([], 2, 3)
    assert speaker._untold() == []


@pytest.mark.parametrize(("kinds", "is_open"), [((), False), (("question", "reply"), False), (("question",), True)])
def test_only_an_unanswered_question_is_continued(speak, checkpoints, kinds, is_open):
    entries = [Entry(kind, "x") for kind in kinds]
    speaker = speak(None, entries)
    if is_open:
        assert speaker.ask() is None
    else:
        with pytest.raises(ValueError, match=r"^no question is unanswered; ask one$"):
            speaker.ask()
    assert (speaker.text.entries, checkpoints) == (entries, [])


def test_a_request_holds_the_conversation_and_due_notes(speak):
    speaker = speak(entries=[Entry("question", "Q")], on_text=print)
    speaker.loop_state.told_count = 1
    message = Message(role="user", content="Q")
    expected = CompletionRequest(
        messages=(message,), seed=decoding_seed("me", 4, 0), episode_id="me", temperature=0.5,
        max_completion_tokens=70, on_text=print,
    )  # fmt: skip
    assert speaker.request() == expected
    speaker.loop_state.notes += ["a note", "another"]
    notes = "\n\n".join(fill("notice", text=text) for text in ("a note", "another"))
    told = message.model_copy(update={"content": f"Q\n\n{notes}"})
    for _ in range(2):
        assert speaker.request() == expected._replace(messages=(told,))
        assert speaker.text.entries == [Entry("question", told.content)]


@pytest.mark.parametrize(
    ("reply", "finish_reason", "is_saved"),
    [
        (Reply(None, 0, "Done."), "stop", True),
        (Reply(None, 0, "Done."), "length", False),
        (Reply(None, 0, "Done.", is_unclosed=True), "stop", False),
        (Reply("x", 1, "Done."), "stop", False),
    ],
)
def test_a_reply_is_kept_and_an_answer_saved(speak, checkpoints, reply, finish_reason, is_saved):
    speaker = speak(entries=[Entry("question", "Q" * 10)])
    speaker.keep(reply, Completion("Done.", finish_reason, 20, 0, 1, 0.0))
    assert speaker.text.entries[-1] == Entry("reply", "Done.")
    assert (speaker.loop_state.reply_count, speaker.token_count(), len(checkpoints)) == (5, 30, int(is_saved))


@pytest.mark.parametrize("contract", ["persistent", "stateless"])
def test_an_observation_tells_deferred_work_and_notes(speak, checkpoints, contract):
    speaker = speak(entries=[Entry("reply", "R")], contract=contract)
    speaker.loop_state.told_count = 1
    speaker.loop_state.notes.append("a note")
    speaker._told = ["deferred"]
    result = BlockResult(output="1\n")
    extra = ["deferred", fill("notice", text="a note")]
    text = observation(result, 2, extra, keeps_names=contract == "persistent")
    assert speaker.observe(Reply("x", 2, "R"), Acted("x", result, is_verified=True)) == text
    assert (speaker.text.entries[-1], checkpoints) == (Entry("observation", text), [True])


def test_tokens_of_questions_within_are_taken_from_the_allowance(speak):
    allowance: Any = SimpleNamespace(take_tokens=lambda: (3, 4))
    assert [speak(allowance=each).take_tokens() for each in (None, allowance)] == [(0, 0), (3, 4)]


HISTORY = [
    Entry("system", "S" * 40),
    Entry("question", "Q" * 400),
    *(Entry(kind, "x" * 1000) for _ in range(4) for kind in ("reply", "observation")),
]


def shorten(speaker, *replies):
    """Shorten with these replies; return the event and the requests."""
    left = list(replies)
    requests = []

    async def complete(request):
        requests.append(request)
        reply = left.pop(0)
        if isinstance(reply, Stopped):
            raise reply
        return Completion(reply, "stop", 30, 0, 5, 0.0)

    return asyncio.run(speaker.shorten(complete)), requests


def test_outputs_are_removed_before_anything_is_summarized(speak, checkpoints):
    entries = [*HISTORY[:2], Entry("reply", "r"), *(Entry("observation", "x" * 1000) for _ in range(4))]
    speaker = speak(entries=entries)
    before = speaker.token_count()
    event, requests = shorten(speaker)
    removed = len(fill("removed_output", length=1000))
    after = round((40 + 400 + 1 + 3 * removed + 1000) / 4)
    assert event == Compacted(before, after, 3, is_summarized=False, prompt_tokens=0, completion_tokens=0)
    assert (requests, checkpoints) == ([], [True])


def test_a_summary_replaces_the_older_half(speak):
    speaker = speak(entries=HISTORY, names=("a", "b"))
    speaker.text.question = "What?"
    before = speaker.token_count()
    event, requests = shorten(speaker, " All done. ")
    text = fill("summary", summary="All done.", variables="a: int\nb: int", question="What?")
    removed = fill("removed_output", length=1000)
    assert [entry.kind for entry in speaker.text.entries] == [
        "system", "summary", "reply", "observation", "reply", "observation",
    ]  # fmt: skip
    assert speaker.text.entries[:2] == [HISTORY[0], Entry("summary", text)]
    assert event == Compacted(before, speaker.token_count(), 3, True, prompt_tokens=30, completion_tokens=5)
    (request,) = requests
    asked = f"{removed}\n\n{fill('summary_request', word_limit=400)}"
    contents = ["S" * 40, "Q" * 400, "x" * 1000, removed, "x" * 1000, asked]
    assert [message.content for message in request.messages] == contents
    seed = decoding_seed("me/summary", 4, 0)
    assert request == CompletionRequest(request.messages, seed, "me", temperature=0.5, max_completion_tokens=70)


def test_a_summary_that_fails_is_left_out_and_a_late_one_ends_the_question(speak):
    speaker = speak(entries=HISTORY)
    event, _ = shorten(speaker, Stopped(FinishReason.ERROR))
    assert (event.prompt_tokens, event.completion_tokens) == (0, 0)
    expected = fill("summary", summary=fill("no_summary"), variables="(nothing)", question="")
    assert speaker.text.entries[1] == Entry("summary", expected)
    with pytest.raises(Stopped):
        shorten(speak(entries=HISTORY), Stopped(FinishReason.TIMEOUT))


@pytest.mark.parametrize(("count", "more"), [(200, []), (203, ["... and 3 more names"])])
def test_two_hundred_names_are_listed(speak, count, more):
    speaker = speak(names=[f"n{number}" for number in range(count)])
    assert speaker._listed_variables().splitlines() == [*(f"n{number}: int" for number in range(200)), *more]


def test_an_older_half_can_be_shortened(speak):
    assert speak(entries=HISTORY).can_shorten() is True
    assert speak(entries=HISTORY[:3]).can_shorten() is False
