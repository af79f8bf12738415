import asyncio

import pytest

from carryover.tasks.agent.protocol import CompletionRequest
from carryover.tasks.agent.scripted import VariedModel
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.open import fixed_habits, open_teacher, open_varied_teacher
from tests.tasks.agent.playing import opening_messages


def make_request(bucket, prompt_set):
    messages = opening_messages(prompt_set, sample_instance(KNAPSACK[bucket], 1))
    return CompletionRequest(messages=tuple(messages), seed=3, episode_id="episode")


@pytest.mark.parametrize(("bucket", "prompt_set"), [("easy", "full"), ("hard", "full"), ("small", "compact")])
def test_a_teacher_answers_with_one_block(bucket, prompt_set):
    teacher = open_teacher(bucket, "persistent")

    completion = asyncio.run(teacher.complete(make_request(bucket, prompt_set)))

    assert completion.text.count("```") == 2
    assert completion.finish_reason == "stop"
    assert completion == asyncio.run(teacher.complete(make_request(bucket, prompt_set)))


def test_tokens_are_those_of_the_conversation_and_the_reply():
    teacher = open_teacher("easy", "stateless", lambda messages: sum(len(message.content) for message in messages))
    request = make_request("easy", "full")

    completion = asyncio.run(teacher.complete(request))

    assert completion.prompt_tokens == sum(len(message.content) for message in request.messages)
    assert completion.completion_tokens == len(completion.text)
    assert completion.cached_prompt_tokens == 0
    assert teacher.token_source == "training_tokenizer"


def test_a_fixed_teacher_prints_its_table_unless_told_otherwise():
    replies = {}
    for prints_table in (True, False):
        teacher = KNAPSACK_FAMILY.open_teacher("small", "stateless", prints_table=prints_table)
        assert not isinstance(teacher, VariedModel)
        request = make_request("small", "compact")
        replies[prints_table] = asyncio.run(teacher.complete(request)).text
    sized = open_teacher("small", "stateless", habits=fixed_habits("small").model_copy(update={"shown": "size"}))
    assert replies[True] == asyncio.run(open_teacher("small", "stateless").complete(request)).text
    assert replies[False] == asyncio.run(sized.complete(request)).text != replies[True]


def test_an_unknown_bucket_is_named_with_the_choices():
    with pytest.raises(ValueError, match="no teacher plays bucket 'medium'; choose from easy, hard, small"):
        open_teacher("medium", "persistent")


def test_unknown_levels_are_refused_before_an_episode_starts():
    with pytest.raises(ValueError, match="unknown habits mood; choose from inspected_per_turn"):
        open_varied_teacher("small", "persistent", {"mood": ("good",)})


def test_a_familys_teacher_prints_its_table_by_default():
    request = make_request("small", "compact")
    spoken = []
    by_default = KNAPSACK_FAMILY.open_teacher("small", "stateless")
    for teacher in (by_default, KNAPSACK_FAMILY.open_teacher("small", "stateless", prints_table=True)):
        assert not isinstance(teacher, VariedModel)
        spoken.append(asyncio.run(teacher.complete(request)).text)
    assert spoken[0] == spoken[1]
