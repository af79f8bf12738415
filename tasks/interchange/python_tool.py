"""The one tool of a code agent, whose argument is a block."""

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
