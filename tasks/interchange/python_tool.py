"""The one tool of a code agent: its calls are blocks, their results are outcomes."""

import json

from carryover.tasks.traces.rows import StepRow, TurnRow

TOOL = "python"
TOOL_DEFINITION = {
    "type": "function",
    "function": {
        "name": TOOL,
        "description": "Run a block of Python under the episode's contract; its functions are the environment's tools.",
        "parameters": {
            "type": "object",
            "properties": {"code": {"type": "string", "description": "The block."}},
            "required": ["code"],
        },
    },
}
"""Its definition in OpenAI's schema of functions."""


def call_id(turn: TurnRow, step: StepRow, steps: list[StepRow]) -> str:
    """Return the identifier of a block's call among the turn's."""
    if len(steps) == 1:
        return f"turn-{turn.turn}"
    return f"turn-{turn.turn}-step-{step.step}"


def call_result(turn: TurnRow, step: StepRow, steps: list[StepRow]) -> str:
    """Return the observation of a turn's only block, else the block's outcome as JSON.

    One observation answers all of a turn's blocks, and so tells the outcome of none of several.
    """
    if len(steps) == 1 and turn.observation is not None:
        return turn.observation
    return json.dumps({"result": step.result, "output": step.output, "error": step.error})
