"""A simulated user and a judge: models beside the compared one."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from carryover.tasks.agent.condition import decoding_seed
from carryover.tasks.agent.events import Answer
from carryover.tasks.agent.protocol import CompletionRequest, Message, ModelClient, ModelError
from carryover.tasks.agent.stops import stop_of_model_error
from carryover.tasks.cave.prompting import fill
from carryover.tasks.cave.suites.case import Call, Dialogue
from carryover.tasks.cave.suites.values import Json
from carryover.tasks.runtime.results import ToolCall
from carryover.tasks.services.errors import UserError
from carryover.tasks.traces.vocabulary import FinishReason

_FAILED = (FinishReason.ERROR, FinishReason.TIMEOUT)
_MAX_MESSAGES = 100
"""Of the user; Inspect's limit."""
_BEGIN = "Begin: you are the customer, and speak to a customer service agent."
_ENDS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
_TRANSFER = "transfer_to_human_agents"
_JUDGE = """You check a conversation between a customer and a customer service agent against statements about it.
Reply with a JSON list of true or false, one for each statement in order, and nothing else.

Conversation:
{said}

Statements:
{assertions}"""

Ask = Callable[[str], Awaitable[tuple[Answer, list[ToolCall]]]]


class Speakers(NamedTuple):
    """The models behind a conversation that are not compared."""

    user: ModelClient | None = None
    """None for a script that asks the case's question and is content with the answer."""
    judge: ModelClient | None = None


class Heard(NamedTuple):
    """A turn, or a whole conversation."""

    answer: Answer
    calls: list[ToolCall]
    judged_reward: float | None = None


async def converse(ask: Ask, opening: str, dialogue: Dialogue, speakers: Speakers, name: str) -> Heard:
    """Let a simulated user lead a conversation, and a judge assess it.

    Raises:
        UserError: The simulated user gave no first message.
    """
    said = [Message(role="system", content=dialogue.scenario), Message(role="user", content=_BEGIN)]
    answers: list[Answer] = []
    calls: list[ToolCall] = []
    judged = None
    try:
        while len(answers) < _MAX_MESSAGES:
            line = await _next_line(speakers.user, opening, said, name)
            said.append(Message(role="assistant", content=line))
            if answers and any(end in line for end in _ENDS):
                break
            answer, made = await ask(line)
            answers.append(answer)
            calls += made
            said.append(Message(role="user", content=answer.text))
            if speakers.user is None or answer.stop is not FinishReason.ANSWER:
                break
        if answers[-1].stop not in _FAILED:
            judged = await _judge(speakers.judge, said[2:], dialogue.assertions, name)
    except ModelError as error:
        if not answers:
            raise UserError(f"the simulated user gave no first message: {error}; check --user-endpoint-url") from error
        answers.append(_failed_answer(error))
    return Heard(_joined(answers), calls, judged)


async def _next_line(user: ModelClient | None, opening: str, said: Sequence[Message], name: str) -> str:
    if user is None:
        return opening
    return await _complete(user, said, name)


def _failed_answer(error: ModelError) -> Answer:
    """Return the end that a failing user or judge is."""
    stopped = stop_of_model_error(error)
    text = fill(f"stopped_{stopped.reason}", **stopped.values)
    return Answer(text, stop=stopped.reason, step_count=0, prompt_tokens=0, completion_tokens=0)


def missing_actions(wanted: Sequence[Call], made: Sequence[Call]) -> list[str]:
    """Return the reference actions that were not made, as Inspect compares.

    Lists agree in any order, and further calls are allowed.
    """
    done = [(call.function, _unordered(call.arguments)) for call in made]
    has_transferred = any(name == _TRANSFER for name, _ in done)
    missing = []
    for call in wanted:
        is_done = (call.function, _unordered(call.arguments)) in done
        is_transfer = call.function == _TRANSFER and has_transferred  # with any arguments
        if not is_done and not is_transfer:
            missing.append(f"{call.function}({call.arguments})")
    return missing


async def _complete(client: ModelClient, messages: Sequence[Message], name: str) -> str:
    seed = decoding_seed(name, len(messages), 0)
    request = CompletionRequest(tuple(messages), seed, f"{name} by {client.model_name}", temperature=0.0)
    return (await client.complete(request)).text


async def _judge(
    client: ModelClient | None, said: Sequence[Message], assertions: Sequence[str], name: str
) -> float | None:
    """Return 1 if all assertions hold, else 0.

    None without a judge or assertions, and if its reply is not a list of that many truth values.
    """
    if client is None or not assertions:
        return None
    lines = [f"{'customer' if one.role == 'assistant' else 'agent'}: {one.content}" for one in said]
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(assertions, start=1))
    prompt = _JUDGE.format(said="\n".join(lines), assertions=listed)
    text = await _complete(client, [Message(role="user", content=prompt)], name)
    try:
        verdicts = json.loads(text[text.find("[") : text.rfind("]") + 1])
    except ValueError:
        return None
    is_whole = len(verdicts) == len(assertions) and all(isinstance(one, bool) for one in verdicts)
    if is_whole:
        return float(all(verdicts))
    return None


def _joined(answers: Sequence[Answer]) -> Answer:
    return Answer(
        "\n".join(answer.text for answer in answers),
        stop=answers[-1].stop,
        step_count=sum(answer.step_count for answer in answers),
        prompt_tokens=sum(answer.prompt_tokens for answer in answers),
        completion_tokens=sum(answer.completion_tokens for answer in answers),
    )


def _unordered(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _unordered(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return sorted(map(_unordered, value), key=json.dumps)
    return value
