"""Checks of a block before it runs: characters, length, static policy."""

import re

from carryover.tasks.runtime.policy import StaticPolicy, describe_violations
from carryover.tasks.runtime.results import BlockError

_CODE_LIMIT = 1_000_000
"""Characters of a block."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def refusal(code: str, policy: StaticPolicy) -> BlockError | None:
    """Return why a block is not run at all, or None."""
    if not code.isascii() and (surrogate := _SURROGATE.search(code)):
        place = f"character {surrogate.start() + 1} is the lone surrogate U+{ord(surrogate[0]):04X}"
        return BlockError("interpreter", "SyntaxError", f"SyntaxError: {place}; write it as an escape")
    if len(code) > _CODE_LIMIT:
        text = f"BlockTooLong: {len(code)} characters; a block may have {_CODE_LIMIT}"
        return BlockError("interpreter", "BlockTooLong", text)
    if violations := policy.violations(code):
        return BlockError("interpreter", "PolicyViolation", describe_violations(violations), violations)
    return None
