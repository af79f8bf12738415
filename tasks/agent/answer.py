"""An endpoint's answer, held against what a chat completion must have before anything is taken from it."""

import json
from typing import Annotated

from pydantic import BaseModel, Field, NonNegativeInt, PlainValidator, ValidationError

from carryover.tasks.agent.protocol import Completion, FunctionCall
from carryover.tasks.services.text import encodable


class BadAnswerError(ValueError):
    """An answer with status 200 that is not a usable chat completion; the text names what is wrong with it."""


def _check_text(value: object) -> str | None:
    # JSON may hold lone surrogates, which Pydantic's own strings refuse.
    if value is None or isinstance(value, str):
        return None if value is None else encodable(value)
    raise ValueError("Input should be a valid string")


class _Function(BaseModel):
    name: Annotated[str, PlainValidator(_check_text)]
    arguments: Annotated[str, PlainValidator(_check_text)]


class _ToolCall(BaseModel):
    id: str
    function: _Function


class _Message(BaseModel):
    content: Annotated[str | None, PlainValidator(_check_text)] = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _PromptDetails(BaseModel):
    cached_tokens: NonNegativeInt | None = None


class _Usage(BaseModel):
    prompt_tokens: NonNegativeInt
    completion_tokens: NonNegativeInt
    prompt_tokens_details: _PromptDetails | None = None


class _ChatCompletion(BaseModel):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage


def read_answer(body: bytes) -> Completion:
    """Return what a chat completion says, without its time; one with text and no finish reason counts as finished.

    Raise `BadAnswerError` for invalid JSON, and without a choice with a message, usage, or both text and reason.
    """
    try:
        parsed = _ChatCompletion.model_validate(json.loads(body))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place, value = ".".join(map(str, first["loc"])), json.dumps(first["input"])[:200]
        if (place == "usage" and first["input"] is None) or first["type"] == "missing":
            raise BadAnswerError(f"without {place}") from None
        named = f"with a bad {place} {value}: {first['msg']}" if place else f"with no chat completion: {value}"
        raise BadAnswerError(named) from None
    except ValueError:
        raise BadAnswerError(f"with invalid JSON: {body[:200].decode(errors='replace')!r}") from None
    choice, usage = parsed.choices[0], parsed.usage
    text, calls = choice.message.content or "", choice.message.tool_calls or []
    if choice.finish_reason is None and not text and not calls:
        raise BadAnswerError("without finish_reason and without text")
    details = usage.prompt_tokens_details
    return Completion(
        text=text,
        finish_reason=choice.finish_reason or "stop",
        prompt_tokens=usage.prompt_tokens,
        cached_prompt_tokens=0 if details is None else details.cached_tokens or 0,
        completion_tokens=usage.completion_tokens,
        model_seconds=0.0,
        tool_calls=tuple(FunctionCall(call.id, call.function.name, call.function.arguments) for call in calls),
    )
