"""Name, import and call-site events of a block's code.

The rules are those that Appendix F of arXiv 2603.01209 needs and does not spell out: a *user name* is bound by agent
code at module scope (assignment, `for`, `with` and `match` targets, walrus, `def`, `class`, or declared `global` in a
function). Builtins, tools, dunder names, module aliases and names local to a function, class body, comprehension or
`except` clause are not. One block cannot tell whether a name it only reads was ever bound by the agent: the marts drop
reads of names that the episode never binds.
"""

import re
from collections.abc import Collection
from functools import lru_cache

from pydantic import TypeAdapter

from carryover.tasks.services.syntax import UNPARSABLE
from carryover.tasks.traces.rows import NameEventRow
from carryover.tasks.traces.walker import ParsedBlock, walk_block

NOT_PARSED = ParsedBlock(is_parsed=False)
_ROWS = TypeAdapter(list[NameEventRow])
_KEPT_BLOCKS = 64
_KEPT_LENGTH = 10_000
"""Blocks whose events are cached, of at most so many characters: an agent repeats itself, and so do its episodes."""


def parse_block(code: str, tools: Collection[str]) -> ParsedBlock:
    """Return the events of one block.

    A block that is not valid Python has none, but perhaps call sites.

    Takes about 0.3 ms for 450 characters. Deleting a name is no event, and a generator expression counts as evaluated
    where it stands.
    """
    parse = _parse if len(code) <= _KEPT_LENGTH else _parse.__wrapped__
    return parse(code, tuple(tools))


@lru_cache(maxsize=_KEPT_BLOCKS)
def _parse(code: str, tools: tuple[str, ...]) -> ParsedBlock:
    try:
        parsed = walk_block(code, tools)
    except UNPARSABLE:
        parsed = NOT_PARSED
    # Table 1's "tool calls", see `sql/definitions.md`
    call_sites = ()
    if tools:
        call_sites = re.findall(rf"\b(?:{'|'.join(map(re.escape, tools))})\s*\(", code)
    return parsed._replace(call_site_count=len(call_sites))


def name_event_rows(
    parsed: ParsedBlock, *, run_id: str, episode_id: str, step: int, active_globals_before: Collection[str]
) -> list[NameEventRow]:
    """Return a block's events as rows.

    `active_globals_before` are the user names alive when the step started.
    """
    live = frozenset(active_globals_before)
    place = {"run_id": run_id, "episode_id": episode_id, "step": step}
    return _ROWS.validate_python(
        [{**place, **event._asdict(), "is_live_before": event.name in live} for event in parsed.events]
    )
