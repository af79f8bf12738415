"""The tools as their own signatures tell them: the rows of Table 4 (arXiv 2603.01209)."""

import inspect

from carryover.tasks.knapsack.environment import TOOL_NAMES, KnapsackEnvironment


def describe_tools() -> list[dict[str, str]]:
    """Return name, arguments, return type and summary of every tool, in the order of the prompts."""
    return [_describe(name) for name in TOOL_NAMES]


def _describe(name: str) -> dict[str, str]:
    function = getattr(KnapsackEnvironment, name)
    signature = inspect.signature(function)
    parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    return {
        "call": name,
        "arguments": ", ".join(f"{one.name}: {inspect.formatannotation(one.annotation)}" for one in parameters),
        "returns": inspect.formatannotation(signature.return_annotation),
        "summary": (inspect.getdoc(function) or "").partition("\n")[0],
    }
