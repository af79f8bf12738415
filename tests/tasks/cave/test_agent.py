"""The agent for library users: objects in, objects out, the same on both backends."""

import asyncio
import dataclasses
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pandas as pd
import pytest

from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.runtime.engine import BusyError
from carryover.tasks.runtime.objects import InjectionError, RetrievalError
from carryover.tasks.traces.vocabulary import FinishReason

ORDERS = pd.DataFrame(
    {"customer": ["ann", "bob", "ann"], "amount": [10.0, 20.0, 5.0], "currency": ["usd", "eur", "eur"]}
)
SUM = """\
orders["euro"] = [convert(amount, currency) for amount, currency in zip(orders.amount, orders.currency)]
totals = orders.groupby("customer", as_index=False).euro.sum()
best = str(totals.sort_values("euro").customer.iloc[-1])
print(best)"""


def convert(amount: float, currency: str) -> float:
    """Return an amount in euros."""
    return amount * {"usd": 0.5, "eur": 1.0}[currency]


@dataclasses.dataclass
class Point:
    """A place."""

    x: int


def test_frame_and_function_go_in_and_a_frame_comes_out(open_agent, either_runtime):
    agent = open_agent(block(SUM), "Bob.", on=either_runtime)
    agent.inject("orders", ORDERS, description="One row per order.")
    agent.inject("convert", convert)
    assert str(agent.ask("Who spent most? Bind the sums in euros to totals.")) == "Bob."
    expected = pd.DataFrame({"customer": ["ann", "bob"], "euro": [10.0, 20.0]})
    pd.testing.assert_frame_equal(agent.retrieve("totals"), expected, check_dtype=False)
    assert agent.variables() == {"best": "str", "totals": "pandas.DataFrame"}


def test_asking_works_inside_a_running_event_loop(open_agent):
    agent = open_agent("One.", "Two.")

    async def both() -> tuple[str, str]:
        return str(await agent.ask_async("First?")), str(agent.ask("Second, as in a notebook?"))

    assert asyncio.run(both()) == ("One.", "Two.")


def test_prompt_holds_names_signatures_and_documentation_but_no_value(open_agent, watched):
    model = watched(scripted("Done."))
    agent = open_agent(model, instructions="Answer in French.")
    agent.inject("secret", "hunter2", description="A word.")
    agent.inject("orders", ORDERS)
    agent.inject("convert", convert)
    agent.inject("Point", Point)
    agent.ask("Go.")
    system = model.requests[0].messages[0].content
    for told in ("secret: str", "A word.", "orders: pandas.DataFrame", "x: int", "A place.", "Answer in French."):
        assert told in system
    assert "def convert(amount: float, currency: str) -> float\n    Return an amount in euros." in system
    assert not any(value in system for value in ("hunter2", "ann", "20.0"))


def test_object_injected_later_is_told_with_the_next_message(open_agent, watched):
    model = watched(scripted("Yes.", block("print(late + 1)"), "Two."))
    agent = open_agent(model)
    agent.inject("early", 2)
    agent.ask("Ready?")
    agent.inject("late", 1)
    agent.ask("Add one.")
    assert "early" not in model.requests[1].messages[-1].content
    assert "Now also available:\nlate: int" in model.requests[1].messages[-1].content
    assert "late: int" not in model.requests[1].messages[0].content
    assert "<output>\n2\n</output>" in model.shown()


def test_instance_of_an_injected_dataclass_comes_back_as_one(open_agent):
    agent = open_agent(block("point = Point(3)"), "Done.")
    agent.inject("Point", Point)
    agent.ask("Make a point.")
    assert agent.retrieve("point") == Point(3)


def test_function_in_the_sandbox_takes_live_objects(open_agent):
    agent = open_agent(block("count = row_count(orders)"), "Done.")
    agent.inject("orders", ORDERS)
    agent.inject("row_count", row_count, runs_in="sandbox")
    agent.ask("Count.")
    assert agent.retrieve("count") == 3


def row_count(frame) -> int:
    """Return the number of rows."""
    return len(frame)


def test_what_does_not_travel_is_refused_by_name(open_agent):
    agent = open_agent(block("lock = __import__('threading').Lock()"), "Done.")
    with pytest.raises(InjectionError, match=r"lock: a value of type lock does not travel"):
        agent.inject("lock", threading.Lock())
    agent.ask("Make a lock.")
    with pytest.raises(RetrievalError, match=r"lock: .*does not travel"):
        agent.retrieve("lock")
    with pytest.raises(RetrievalError, match="no variable 'missing' is alive"):
        agent.retrieve("missing")


def test_object_cannot_be_brought_in_while_a_block_runs(open_agent):
    agent = open_agent(block("look()"), "Done.")
    refused = []

    def look() -> None:
        with pytest.raises(BusyError, match="a block is running"):
            agent.retrieve("x")
        refused.append(True)

    agent.inject("look", look)
    agent.ask("Look.")
    assert refused == [True]


def test_branches_go_on_by_themselves(open_agent):
    agent = open_agent(block("numbers = [1]"), "Made.", block("numbers.append(len(numbers))"), "Added.")
    agent.ask("Make a list.")
    first, second, unused = agent.branch(3)
    assert [branch.ask("Add.").text for branch in (first, second)] == ["Added.", "Added."]
    first.runtime.interpreter.run_block("numbers.append('own')")
    assert [each.retrieve("numbers") for each in (first, second, unused, agent)] == [[1, 1, "own"], [1, 1], [1], [1]]


def test_branches_sample_with_seeds_of_their_own(open_agent, watched):
    model = watched(scripted("Done."))
    agent = open_agent(model)
    for branch in agent.branch(2):
        branch.ask("Go.")
    agent.ask("Go.")
    assert len({request.seed for request in model.requests}) == 3


def test_model_by_name_needs_an_endpoint():
    with pytest.raises(ValueError, match="model 'qwen' has no endpoint"):
        Agent("qwen")


class Endpoint(BaseHTTPRequestHandler):
    """Answers every conversation with one word."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        choice = {"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
        body = json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args) -> None:
        return


def test_a_backend_of_an_agent_is_that_of_its_interpreter(fork_tree):
    with Agent("any", endpoint="http://127.0.0.1:9/v1", runtime=fork_tree, backend="jupyter") as agent:
        assert agent.spec.runtime.backend == "jupyter"


def test_any_openai_compatible_endpoint_answers(fork_tree):
    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Agent("any", endpoint=f"http://127.0.0.1:{server.server_port}/v1", runtime=fork_tree) as agent:
            answers = [agent.ask("Hi."), asyncio.run(agent.ask_async("Hi again."))]
        server.shutdown()
    assert [(answer.text, answer.prompt_tokens, answer.completion_tokens) for answer in answers] == [
        ("Hello.", 9, 2)
    ] * 2


def test_cancelled_question_leaves_the_interpreter_to_its_block(open_agent):
    """The host does not write to a channel on which a running block still talks."""
    entered, leave = threading.Event(), threading.Event()

    def wait() -> None:
        """Wait for the test."""
        entered.set()
        leave.wait()

    agent = open_agent(block("wait()\nx = 1"), block("x += 1"), "Two.")
    agent.inject("wait", wait)

    async def cancel() -> None:
        asking = asyncio.ensure_future(agent.ask_async("Go."))
        await asyncio.to_thread(entered.wait)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(cancel())
    with pytest.raises(BusyError):
        agent.retrieve("x")
    leave.set()
    assert agent.ask("Now?").stop is FinishReason.ANSWER
    assert agent.retrieve("x") == 2
