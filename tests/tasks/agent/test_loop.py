"""The course of an episode: how it ends, and what is recorded of its turns."""

import asyncio
import json

import pytest

from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.protocol import ContextOverflowError, ModelError
from carryover.tasks.traces.rows import EPISODE_TABLES
from carryover.tasks.traces.vocabulary import FinishReason
from tests.tasks.agent.playing import FIRST_ID, INSTANCE, Model, SlowModel, block, make_context, play


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


def test_episode_of_a_hanging_model_ends_as_retryable(runtime):
    episode = play(runtime, SlowModel(), timeout_seconds=0.05).episode

    assert episode.finish_reason == FinishReason.ERROR
    assert episode.error_message == "the episode was not over after 0.05 s (timeout_seconds)"
    assert 0 < episode.model_seconds <= episode.wall_seconds


def test_episode_timed_out_in_a_block_keeps_its_step(runtime):
    recorded = play(runtime, Model(block("import time; time.sleep(0.3)")), timeout_seconds=0.25)

    assert recorded.episode.finish_reason == FinishReason.ERROR
    assert recorded.episode.step_count == 1


@pytest.mark.parametrize(("limit", "turns"), [(110, 1), (111, 2), (220, 2), (None, 3)])
def test_tokens_of_prompts_and_replies_end_an_episode(runtime, limit, turns):
    replies = [block("x = 1"), block("y = 1"), block("finish()")]  # of 110 tokens each
    episode = play(runtime, Model(*replies), max_tokens=limit).episode

    assert episode.turn_count == turns
    assert episode.finish_reason == (FinishReason.FINISH_TOOL if limit is None else FinishReason.MAX_TOKENS)
    assert (episode.max_tokens, episode.concurrency) == (limit, 1)


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


def test_counter_counts_conversation_tokens_once(runtime):
    recorded = asyncio.run(
        run_episode(
            make_context(runtime, Model(block("x = 1"), block("finish()")), count_tokens=len),
            PlannedEpisode(INSTANCE),
        )
    )

    assert recorded.episode.training_tokens == 5 + 3  # opening messages, two replies and one observation


def test_two_plays_are_equal_but_for_times_and_runs(runtime):
    def content(run_id):
        model = Model(
            block("import random\nx = random.random()\nprint(x)"), block("print(undefined)"), block("finish()")
        )
        rows = play(runtime, model, run_id=run_id).rows
        volatile = {"run_id", "started_at", "wall_seconds", "execution_seconds", "seconds"}
        return {table: [row.model_dump(exclude=volatile) for row in rows[table]] for table in rows}

    assert content("one") == content("two")
