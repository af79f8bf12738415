import asyncio
import json
import threading
from typing import Literal

import pytest

from tasks.agent.condition import Condition
from tasks.agent.faults import FaultSpec
from tasks.agent.loop import ContractViolationError, run_episode
from tasks.agent.protocol import Completion, ContextOverflowError, ModelError
from tasks.agent.spec import EpisodeSpec
from tasks.knapsack.sampling import sample_instance
from tasks.knapsack.spec import KNAPSACK
from tasks.traces.rows import EPISODE_TABLES, ErrorKind, FinishReason

INSTANCE = sample_instance(KNAPSACK["easy"], 11)
FIRST_ID = INSTANCE.items[0].item_id


class Model:
    """A client that gives replies from a list; an exception among them is raised."""

    model_name = "model"
    token_source: Literal["server", "training_tokenizer"] = "server"

    def __init__(self, *replies, finish_reason="stop"):
        self.replies = list(replies)
        self.finish_reason = finish_reason
        self.requests = []

    async def complete(self, request):
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return Completion(reply, self.finish_reason, 100, 40, 10, 0.5)


class SlowModel(Model):
    async def complete(self, request):
        await asyncio.sleep(60)
        raise AssertionError("the episode should have ended")


def block(code):
    return f"I act.\n```python\n{code}\n```"


def make_condition(runtime_contract="persistent", **fields):
    default = {"purpose": "evaluation", "model_name": "model", "bucket": "easy", "split": "evaluation"}
    return Condition(**{**default, "runtime_contract": runtime_contract, **fields})


def play(runtime, model, contract="persistent", *, condition=None, replicate=0, run_id="run", **fields):
    return asyncio.run(
        run_episode(
            INSTANCE,
            condition or make_condition(contract),
            model,
            runtime,
            EpisodeSpec(**fields),
            run_id=run_id,
            plan_digest="plan",
            scale="smoke",
            replicate=replicate,
        )
    )


def observations(recorded):
    return [json.loads(turn.observation) for turn in recorded.turns[1:] if turn.observation is not None]


def test_finish_ends_the_episode_right_after_its_step(runtime):
    model = Model(block(f"inspect('{FIRST_ID}')"), block("finish()"), "never asked for")

    recorded = play(runtime, model)

    assert recorded.episode.finish_reason == FinishReason.FINISH_TOOL
    assert (recorded.episode.turn_count, recorded.episode.step_count) == (2, 2)
    assert len(model.requests) == 2
    assert recorded.turns[-1].observation is None


def test_finish_on_the_last_turn_is_a_normal_end(runtime):
    assert play(runtime, Model(block("finish()")), max_turns=1).episode.finish_reason == FinishReason.FINISH_TOOL


def test_an_episode_ends_after_its_last_turn(runtime):
    recorded = play(runtime, Model(block("x = 1")), max_turns=3)

    assert recorded.episode.finish_reason == FinishReason.MAX_TURNS
    assert recorded.episode.turn_count == 3
    assert [turn.observation is None for turn in recorded.turns] == [False, False, False, True]


def test_items_taken_count_however_the_episode_ends(runtime):
    item = next(item for item in INSTANCE.allowed_items if item.weight <= INSTANCE.capacity)
    take = block(f"inspect('{item.item_id}')\ntake_item('{item.item_id}')")

    recorded = play(runtime, Model(take, ModelError("gone")))

    assert recorded.episode.finish_reason == FinishReason.ERROR
    assert recorded.episode.error_message == "gone"
    assert recorded.episode.value_taken == item.value
    assert recorded.episode.score == item.value / INSTANCE.optimum.value


def test_a_conversation_that_is_too_long_ends_the_episode(runtime):
    recorded = play(runtime, Model(block("x = 1"), ContextOverflowError("too long")))

    assert recorded.episode.finish_reason == FinishReason.CONTEXT_LENGTH
    assert (recorded.episode.turn_count, recorded.episode.step_count) == (1, 1)


def test_a_model_that_does_not_answer_in_time_ends_the_episode(runtime):
    episode = play(runtime, SlowModel(), timeout_seconds=0.05).episode

    assert episode.finish_reason == FinishReason.TIMEOUT
    assert 0 < episode.model_seconds <= episode.wall_seconds


def test_a_block_that_passes_the_time_limit_ends_the_episode_after_its_step(runtime):
    recorded = play(runtime, Model(block("import time; time.sleep(0.3)")), timeout_seconds=0.25)

    assert recorded.episode.finish_reason == FinishReason.TIMEOUT
    assert recorded.episode.step_count == 1


def test_only_the_first_of_several_blocks_runs_and_the_model_is_told(runtime):
    model = Model(block("print('one')") + "\n" + block("print('two')"), block("finish()"))

    recorded = play(runtime, model)

    (observation,) = observations(recorded)
    assert observation["observation"]["output"] == "one\n"
    assert "held 2 code blocks" in observation["system_note"]
    assert recorded.turns[1].has_system_note
    assert recorded.turns[1].block_count == 2
    assert "two" in recorded.turns[1].assistant_text
    assert "two" not in model.requests[1].messages[-2].content


def test_a_reply_without_a_block_uses_the_turn_and_runs_nothing(runtime):
    recorded = play(runtime, Model(block("x = 1"), "I wonder.", block("finish()")))

    assert (recorded.episode.turn_count, recorded.episode.step_count) == (3, 2)
    told = observations(recorded)[1]
    assert "No code block found" in told["observation"]["error"]
    assert told["runtime_state"]["active_globals"] == ["x"]
    (error,) = recorded.errors
    assert (error.kind, error.step, error.turn) == (ErrorKind.PROTOCOL, None, 2)


def test_a_reply_that_was_cut_off_runs_nothing(runtime):
    recorded = play(runtime, Model(block("finish()"), finish_reason="length"), max_turns=2)

    assert recorded.episode.finish_reason == FinishReason.MAX_TURNS
    assert recorded.episode.step_count == 0
    assert "cut off before its end (finish reason: length)" in observations(recorded)[0]["observation"]["error"]
    assert recorded.episode.completion_tokens == 20
    assert {error.kind for error in recorded.errors} == {ErrorKind.MODEL}


def test_the_header_tells_living_names_under_the_persistent_contract(runtime):
    recorded = play(runtime, Model(block("import math\nx = 1\ndef f(): pass"), block("y = x"), block("finish()")))

    first, second = (told["runtime_state"] for told in observations(recorded))
    assert first == {"runtime": "persistent", "active_globals": ["f", "x"], "last_step_globals": ["f", "x"]}
    assert second["active_globals"] == ["f", "x", "y"]
    assert recorded.steps[1].active_globals_before == ("f", "x")


def test_the_header_tells_of_names_that_are_gone_under_the_stateless_contract(runtime):
    recorded = play(runtime, Model(block("x = 1"), block("y = x"), block("finish()")), "stateless")

    first, second = observations(recorded)
    assert first["runtime_state"] == {"runtime": "reset", "active_globals": [], "last_step_globals": ["x"]}
    assert "NameError" in second["observation"]["error"]
    (error,) = recorded.errors
    assert error.is_missing_name
    assert (error.kind, error.error_type, error.is_caught, error.is_injected) == (
        ErrorKind.INTERPRETER,
        "NameError",
        False,
        False,
    )


def test_as_trained_prompt_and_header_follow_the_contract_of_training(runtime):
    condition = make_condition("stateless", train_contract="persistent", visibility="as_trained", base="scratch")
    model = Model(block("x = 1"), block("finish()"))

    recorded = play(runtime, model, condition=condition)

    assert "Runtime mode: PERSISTENT" in model.requests[0].messages[1].content
    assert observations(recorded)[0]["runtime_state"] == {
        "runtime": "persistent",
        "active_globals": ["x"],
        "last_step_globals": ["x"],
    }
    assert recorded.steps[0].active_globals == ()
    assert (recorded.episode.shown_contract, recorded.episode.runtime_contract) == ("persistent", "stateless")


def test_without_a_header_no_names_are_told(runtime):
    recorded = play(runtime, Model(block("x = 1"), block("finish()")), condition=make_condition(header="none"))

    assert list(observations(recorded)[0]) == ["observation"]


def test_the_cap_fails_the_call_after_it_and_keeps_the_output(runtime):
    code = "for number in range(4):\n    list_items()\n    print(number)"

    recorded = play(runtime, Model(block(code), block("finish()")), tool_call_cap=3)

    told = observations(recorded)[0]["observation"]
    assert told["output"] == "0\n1\n2\n"
    assert "Tool call limit exceeded" in told["error"]
    assert recorded.steps[0].error_kind == ErrorKind.CAP
    assert recorded.steps[0].executed_call_count == 4  # the refused call reached the host too
    assert recorded.errors[0].kind == ErrorKind.CAP


def test_a_tool_error_that_the_block_catches_is_recorded_as_caught(runtime):
    code = "try:\n    take_item('nothing')\nexcept Exception:\n    print('caught')"

    recorded = play(runtime, Model(block(code), block("finish()")))

    assert observations(recorded)[0]["observation"]["error"] is None
    (error,) = recorded.errors
    assert (error.kind, error.error_type, error.is_caught) == (ErrorKind.TOOL, "ToolRuntimeException", True)


def test_a_tool_error_that_ends_the_block_is_one_error(runtime):
    recorded = play(runtime, Model(block(f"take_item('{FIRST_ID}')"), block("finish()")))

    assert "must be inspected" in observations(recorded)[0]["observation"]["error"]
    (error,) = recorded.errors
    assert (error.kind, error.is_caught) == (ErrorKind.TOOL, False)
    (call, _) = recorded.tool_calls
    assert (call.tool, call.is_caught) == ("take_item", False)


def test_a_block_that_is_no_python_is_an_observation(runtime):
    recorded = play(runtime, Model(block("def broken(:"), block("finish()")))

    assert "SyntaxError" in observations(recorded)[0]["observation"]["error"]
    assert not recorded.steps[0].is_parsed


def test_text_that_no_file_can_hold_is_replaced(runtime):
    codes = ("class Odd:\n    def __repr__(self): return '\\ud800'\nOdd()", "raise ValueError('\\ud800')", "finish()")
    model = Model(*(f"I \ud800 act.\n```python\n{code}\n```" for code in codes))

    recorded = play(runtime, model)

    assert recorded.steps[0].result == "?"
    assert (recorded.steps[1].error or "").endswith("ValueError: ?")
    for rows in recorded.rows.values():
        for row in rows:
            row.model_dump_json().encode()


def test_sums_of_the_episode_are_those_of_its_turns(runtime):
    recorded = play(runtime, Model(block("list_items()"), "no block", block("finish()")))

    episode = recorded.episode
    assert (episode.prompt_tokens, episode.cached_prompt_tokens, episode.completion_tokens) == (300, 120, 30)
    assert episode.model_seconds == 1.5
    assert episode.execution_seconds == sum(step.execution_seconds for step in recorded.steps)
    assert (episode.call_site_count, episode.executed_call_count) == (2, 2)
    assert set(recorded.rows) == {table.TABLE for table in EPISODE_TABLES}


def test_turn_zero_holds_the_opening_messages(runtime):
    model = Model(block("finish()"))

    recorded = play(runtime, model)

    opening = json.loads(recorded.turns[0].observation or "")
    assert opening == [message.model_dump() for message in model.requests[0].messages]


def test_decoding_seeds_are_equal_across_cells_and_differ_between_replicates(runtime):
    models = [Model(block("x = 1"), block("finish()")) for _ in range(3)]

    play(runtime, models[0], "persistent")
    play(runtime, models[1], "stateless")
    play(runtime, models[2], "stateless", replicate=1)

    seeds = [[request.seed for request in model.requests] for model in models]
    assert seeds[0] == seeds[1]
    assert not set(seeds[1]) & set(seeds[2])


def test_the_declaration_tells_what_was_in_force(runtime):
    declared = json.loads(play(runtime, Model(block("finish()")), "stateless", tool_call_cap=80).episode.contract_json)

    assert declared["contract"] == {"name": "stateless", "version": 1, "lifetime": "block", "scope": "process"}
    assert (declared["tool_call_cap"], declared["max_turns"]) == (80, 40)
    assert declared["sandbox_level"] == runtime.sandbox_level
    assert {"prompt_digest", "code_digest", "header", "backend"} <= set(declared)


def test_tokens_of_the_conversation_are_counted_once_where_there_is_a_counter(runtime):
    recorded = asyncio.run(
        run_episode(
            INSTANCE,
            make_condition(),
            Model(block("x = 1"), block("finish()")),
            runtime,
            EpisodeSpec(),
            run_id="run",
            plan_digest="plan",
            scale="smoke",
            count_tokens=len,
        )
    )

    assert recorded.episode.training_tokens == 5 + 3  # opening messages, two replies and one observation


class BrokenPromise:
    """A runtime whose canary says that bindings do not live as promised, from a given step on."""

    def __init__(self, runtime, step):
        self._runtime = runtime
        self._step = step
        self.backend, self.sandbox_level = runtime.backend, runtime.sandbox_level
        self.has_closed = False

    def open_interpreter(self, contract, tools, **options):
        outer, interpreter = self, self._runtime.open_interpreter(contract, tools, **options)

        class Interpreter:
            checks = 0

            def __getattr__(self, name):
                return getattr(interpreter, name)

            def verify_contract(self):
                self.checks += 1
                return interpreter.verify_contract() and self.checks < outer._step

            def close(self):
                outer.has_closed = True
                interpreter.close()

        return Interpreter()


def test_a_contract_that_does_not_hold_stops_the_run_before_the_step(runtime):
    model = Model(block("x = 1"), block("y = 2"))
    broken = BrokenPromise(runtime, step=2)

    with pytest.raises(ContractViolationError, match="turn 2: bindings do not live as contract 'persistent' promises"):
        play(broken, model)
    assert len(model.requests) == 2
    assert broken.has_closed


def test_an_unknown_contract_is_named_with_the_choices(runtime):
    with pytest.raises(ValueError, match="unknown contract 'eternal'; choose from persistent, stateless"):
        play(runtime, Model(block("finish()")), "eternal")


class FailingRuntime:
    """A runtime whose interpreters fail from a given block on, as when their processes are gone."""

    def __init__(self, runtime, block):
        self._runtime = runtime
        self._block = block
        self.backend, self.sandbox_level = runtime.backend, runtime.sandbox_level

    def open_interpreter(self, contract, tools, **options):
        if self._block == 0:
            raise OSError("no process can be started")
        outer, interpreter = self, self._runtime.open_interpreter(contract, tools, **options)

        class Interpreter:
            blocks = 0

            def __getattr__(self, name):
                return getattr(interpreter, name)

            def run_block(self, code):
                self.blocks += 1
                if self.blocks == outer._block:
                    raise BrokenPipeError("the interpreter is gone")
                return interpreter.run_block(code)

        return Interpreter()


def test_a_runtime_that_fails_ends_the_episode_as_data(runtime):
    recorded = play(FailingRuntime(runtime, block=2), Model(block("x = 1"), block("y = 2")))

    assert recorded.episode.finish_reason == FinishReason.ERROR
    assert recorded.episode.error_message == "the runtime failed: BrokenPipeError: the interpreter is gone"
    assert (recorded.episode.turn_count, recorded.episode.step_count) == (2, 1)
    assert recorded.episode.is_contract_verified
    assert recorded.episode.prompt_tokens == 200


def test_a_runtime_that_cannot_start_ends_the_episode_as_data(runtime):
    recorded = play(FailingRuntime(runtime, block=0), Model(block("x = 1")))

    assert recorded.episode.finish_reason == FinishReason.ERROR
    assert recorded.episode.error_message == "the runtime failed: OSError: no process can be started"
    assert (recorded.episode.turn_count, recorded.episode.step_count) == (1, 0)
    assert recorded.episode.prompt_tokens == 100
    assert not recorded.episode.is_contract_verified


def test_a_runtime_that_cannot_start_beside_an_endpoint_that_fails_is_no_other_ending(runtime):
    recorded = play(FailingRuntime(runtime, block=0), Model(ModelError("the endpoint is down")))

    assert recorded.episode.finish_reason == FinishReason.ERROR
    assert recorded.episode.error_message == "the endpoint is down"


class RuntimeThatWaits:
    """A runtime that opens no interpreter before the model was asked."""

    def __init__(self, runtime, is_asked):
        self._runtime = runtime
        self._is_asked = is_asked
        self.backend, self.sandbox_level = runtime.backend, runtime.sandbox_level

    def open_interpreter(self, contract, tools, **options):
        if not self._is_asked.wait(timeout=10):
            raise OSError("the model was not asked")
        return self._runtime.open_interpreter(contract, tools, **options)


def test_the_interpreter_opens_while_the_first_reply_is_waited_for(runtime):
    is_asked = threading.Event()

    class TellingModel(Model):
        async def complete(self, request):
            is_asked.set()
            return await super().complete(request)

    recorded = play(RuntimeThatWaits(runtime, is_asked), TellingModel(block("finish()")))
    assert recorded.episode.finish_reason == FinishReason.FINISH_TOOL


def test_only_a_contract_under_which_a_block_was_run_counts_as_verified(runtime):
    assert not play(runtime, Model("no block"), max_turns=1).episode.is_contract_verified
    assert play(runtime, Model("no block", block("x = 1")), max_turns=2).episode.is_contract_verified


ALWAYS = FaultSpec(rate=1.0, storm_share=0.0, maximum=1)


def test_a_dropped_name_is_recorded_as_injected_with_every_error_that_follows(runtime):
    model = Model(block("x = 1"), *[block("print(x)")] * 2, block("x = 2"), block("print(x)"), block("finish()"))

    recorded = play(runtime, model, faults=ALWAYS)

    steps = recorded.steps
    assert [step.injected_fault for step in steps] == [None, "drop:x", None, None, None, None]
    assert steps[1].active_globals_before == ()
    assert [(error.step, error.is_injected) for error in recorded.errors] == [(2, True), (3, True)]
    assert steps[4].output == "2\n"
    assert recorded.episode.injected_fault_count == 1
    assert [event.kind for event in recorded.runtime_events] == ["drop"]


def test_a_missing_name_of_the_agents_own_is_not_injected(runtime):
    model = Model(block("x = 1"), block("print(x)"), block("print(z)"), block("finish()"))

    recorded = play(runtime, model, faults=ALWAYS)

    assert [(error.step, error.is_injected) for error in recorded.errors] == [(2, True), (3, False)]


def test_a_tool_that_was_made_to_fail_is_recorded_as_injected(runtime):
    recorded = play(runtime, Model(block("list_items()"), block("finish()")), "stateless", faults=ALWAYS)

    assert recorded.steps[0].injected_fault == "fail:list_items"
    assert recorded.tool_calls[0].is_injected
    (error,) = recorded.errors
    assert error.is_injected
    assert not error.is_caught


def test_a_genuine_error_beside_an_injected_one_is_not_injected(runtime):
    code = "try:\n    list_items()\nexcept Exception:\n    pass\ninspect('nothing')"

    recorded = play(runtime, Model(block(code), block("finish()")), "stateless", faults=ALWAYS)

    assert [(call.tool, call.is_injected) for call in recorded.tool_calls[:2]] == [
        ("list_items", True),
        ("inspect", False),
    ]
    assert [(error.is_caught, error.is_injected) for error in recorded.errors] == [(True, True), (False, False)]


def test_two_plays_are_equal_but_for_times_and_runs(runtime):
    def content(run_id):
        model = Model(
            block("import random\nx = random.random()\nprint(x)"), block("print(undefined)"), block("finish()")
        )
        rows = play(runtime, model, run_id=run_id).rows
        volatile = {"run_id", "started_at", "wall_seconds", "execution_seconds", "seconds"}
        return {table: [row.model_dump(exclude=volatile) for row in rows[table]] for table in rows}

    assert content("one") == content("two")
