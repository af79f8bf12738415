"""What an endpoint that a plan names lacks: an answer, a key that it accepts, or the model."""

import json
import os
import re
from urllib.parse import quote

from carryover.tasks.serving.ask import Answer, NoAnswer, ask

NAMED_MODELS = 5
"""Models of an endpoint that a complaint names."""

_NOBODY_BEHIND = (502, 503, 504)
_REFUSED = (401, 403)
_BAD_KEY = re.compile(rb"(?i)api.?key")
"""What Google's endpoint answers to a wrong key: 400, with the key named."""


def endpoint_lacks(whose: str, base_url: str, key_variable: str | None, model: str | None = None) -> list[str]:
    """Return what an endpoint lacks, in words; an endpoint that lists no models is taken at its word.

    Args:
        whose: Who is reached there, e.g. `the teacher's`.
        base_url: Address up to and including the version.
        key_variable: Environment variable with its key; none for an endpoint without one.
        model: Name that it must know; none where that cannot be known yet.
    """
    key = None if key_variable is None else os.environ.get(key_variable, "").strip()
    lacks = [f"{whose} key in the environment variable {key_variable}"] if key == "" else []
    address = f"{base_url.rstrip('/')}/models"
    answer = ask(address, key or None)
    if isinstance(answer, NoAnswer):
        return [*lacks, f"an answer from {whose} endpoint {base_url} ({answer.reason})"]
    if answer.status in _NOBODY_BEHIND:
        return [*lacks, f"an answer from {whose} endpoint {base_url} (HTTP {answer.status})"]
    if lacks:
        return lacks
    if answer.status in _REFUSED or (answer.status == 400 and _BAD_KEY.search(answer.body)):
        shown = "without one" if key_variable is None else f"to the one in the environment variable {key_variable}"
        return [f"{whose} key: {base_url} answers HTTP {answer.status} {shown}"]
    names = _names(answer)
    if model is None or not names or model in names or _knows(address, model, key):
        return []
    others = ", ".join(names[:NAMED_MODELS]) + (", ..." if len(names) > NAMED_MODELS else "")
    return [f"{whose} model {model!r} at {base_url}, which has {others}"]


def _names(answer: Answer) -> list[str]:
    """Return the models that are listed; nothing where the answer is no list of them."""
    try:
        # Google lists its models with a prefix that requests leave out.
        return [str(model["id"]).removeprefix("models/") for model in json.loads(answer.body)["data"]]
    except (ValueError, KeyError, TypeError):
        return []


def _knows(address: str, model: str, key: str | None) -> bool:
    """Tell whether a model that is not listed can be asked for all the same, as an alias can."""
    answer = ask(f"{address}/{quote(model)}", key)
    return isinstance(answer, Answer) and answer.status == 200
