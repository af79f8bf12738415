"""Observations parsed into output, result and error, in any of the wordings that agents see."""

import json

from carryover.tasks.interchange.imported import ImportedTurn
from carryover.tasks.lint.trace import Reply


def read_turn(reply: Reply, code: str | None, **counts: int) -> ImportedTurn:
    """Return a reply and what followed it as a turn; `code` is the block that ran, `counts` its tokens."""
    told = read_observation(reply.observation) if reply.observation else ImportedTurn("", None)
    return told._replace(assistant_text=reply.text, code=code, **counts)


def read_observation(observation: str) -> ImportedTurn:
    """Return what a user message tells of a block, as a turn without its reply.

    A JSON object, at its top or under `observation`, is read for `output`, `result` and `error`; any other text is the
    output. `runtime_state` beside it is the header of arXiv 2603.01209, listing 1.
    """
    try:
        content = json.loads(observation)
    except ValueError:
        content = None
    header = content.get("runtime_state") if isinstance(content, dict) else None
    names = header.get("last_step_globals") if isinstance(header, dict) else None
    if isinstance(content, dict) and isinstance(content.get("observation"), dict):
        content = content["observation"]
    if not isinstance(content, dict):
        return ImportedTurn("", None, output=observation, observation=observation)
    result = content.get("result")
    return ImportedTurn(
        assistant_text="",
        code=None,
        output=str(content.get("output") or ""),
        result=result if result is None or isinstance(result, str) else json.dumps(result),
        error=str(content["error"]) if content.get("error") else None,
        observation=observation,
        last_step_globals=tuple(map(str, names)) if isinstance(names, list) else None,
    )
