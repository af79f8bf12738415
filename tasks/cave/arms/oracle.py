"""A script that solves every case under every arm."""

import ast
import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from carryover.tasks.agent.protocol import Completion, CompletionRequest, FunctionCall
from carryover.tasks.cave.arms.arm import Arm
from carryover.tasks.cave.arms.calling import EXECUTE
from carryover.tasks.cave.arms.case_environment import READ, WRITE, source_of
from carryover.tasks.cave.arms.tokens import count_messages, count_reply
from carryover.tasks.cave.scripted import block
from carryover.tasks.cave.suites.case import STAGE, Call, Case, Expected, GoldenRun, Turn
from carryover.tasks.cave.suites.values import rebuilding, telling
from carryover.tasks.services.syntax import parse_python
from carryover.tasks.traces.vocabulary import ContractName, TokenSource

MODEL_NAME = "oracle"
DONE = "Done."
_READING = f"{READ}('{{}}')"
_READING_FILE = "json.loads(Path('{}.json').read_text())"
_WRITING = f"{WRITE}('{{name}}', {{value}})"
_WRITING_FILE = "_ = Path('{name}.json').write_text(json.dumps({value}))"
_PRINTING = "print({value})"
Scripted = str | tuple[Call, ...]
"""A reply as text, or as native calls."""


class Oracle:
    """A scripted model, with tokens counted by `tokens.py`."""

    model_name = MODEL_NAME
    token_source: TokenSource = "script"

    def __init__(self, replies: Sequence[Scripted]) -> None:
        self._replies = replies

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the reply at the conversation's place in the script."""
        place = sum(message.role == "assistant" for message in request.messages)
        reply = self._replies[place]
        text, made = (reply, ()) if isinstance(reply, str) else ("", reply)
        calls = tuple(
            FunctionCall(f"call_{place}_{at}", call.function, json.dumps(call.arguments))
            for at, call in enumerate(made)
        )
        return Completion(
            text=text,
            finish_reason="tool_calls" if calls else "stop",
            prompt_tokens=count_messages(request.messages, request.tools),
            cached_prompt_tokens=0,
            completion_tokens=count_reply(text, calls),
            model_seconds=0.0,
            tool_calls=calls,
        )


def script(case: Case, arm: Arm) -> list[Scripted]:
    """Return the replies that solve a case under an arm."""
    write = _code if arm.writes_code else _calls
    facts = ()
    if case.dialogue:
        facts = case.dialogue.told
    replies: list[Scripted] = []
    before = case.world.state()
    for acting, expected in zip(write(case, arm), case.expected, strict=True):
        final = " ".join([DONE, *facts])
        if arm.tells_results:
            final = _with_values(final, {name: expected.state[name] for name in _changed(expected, before, case)})
        replies += [*acting, final]
        before = expected.state
    return replies


def programs(case: Case, arm: Arm) -> Iterator[str]:
    """Yield each turn's golden program, with access to the state.

    It reads, and gives back, where the state is kept outside.
    """
    rebuilt: set[str] = set()
    before = case.world.state()
    for turn, expected in zip(case.turns, case.expected, strict=True):
        program = turn.golden.replace(STAGE, "")
        if arm.keeps_variables:
            yield program
            continue
        changed = _changed(expected, before, case)
        opening = _opening_lines(case, arm, turn, rebuilt)
        yield "\n".join([*opening, program, *_closing_lines(case, arm, changed)])
        if arm.contract is ContractName.PERSISTENT:
            rebuilt |= {*_used(turn, case.world.variables), *changed}
        before = expected.state


def _with_values(final: str, values: dict[str, Any]) -> str:
    """Return a final answer that ends with the new values of variables."""
    if not values:
        return final
    return f"{final}\n```json\n{json.dumps(values)}\n```"


def _code(case: Case, arm: Arm) -> Iterator[list[Scripted]]:
    """Yield each turn's block."""
    for program in programs(case, arm):
        yield [block(program)]


def _opening_lines(case: Case, arm: Arm, turn: Turn, rebuilt: set[str]) -> list[str]:
    """Return the lines before a golden program.

    Classes, data, and the variables that are not `rebuilt` yet.
    """
    variables = case.world.variables
    lines: list[str] = []
    if not arm.is_injected and not rebuilt:
        lines += map(source_of, case.world.types)
    if arm.has_files:
        lines += _file_lines(case)
    elif not arm.is_injected and turn.fetch:
        lines.append(turn.fetch)
    reading = _READING_FILE if arm.has_files else _READING
    used = [name for name in _used(turn, variables) if name not in rebuilt]
    lines += [rebuilding(name, variables[name], reading.format(name)) for name in used]
    return lines


def _file_lines(case: Case) -> list[str]:
    """Return the lines that read the case's data from files."""
    frames = [f"import pandas\n{name} = pandas.read_csv('{name}.csv')" for name in case.world.data]
    return ["import json", "from pathlib import Path", *frames]


def _closing_lines(case: Case, arm: Arm, changed: list[str]) -> list[str]:
    """Return the lines that give changed variables back."""
    giving = _WRITING
    if arm.tells_results:
        giving = _PRINTING
    if arm.has_files:
        giving = _WRITING_FILE
    return [giving.format(name=name, value=telling(name, case.world.variables[name])) for name in changed]


def _calls(case: Case, arm: Arm) -> Iterator[list[Scripted]]:
    """Yield each turn's calls: golden ones, or read, compute, write."""
    known: set[str] = set()
    golden = GoldenRun(deepcopy(case.world))
    before = case.world.state()
    for turn, expected in zip(case.turns, case.expected, strict=True):
        used = [name for name in _used(turn, case.world.variables) if name not in known]
        changed = _changed(expected, before, case)
        reading = tuple(Call(READ, {"name": name}) for name in used)
        replies: list[Scripted] = [_fetching_calls(golden, turn) + reading, *expected.stages]
        if arm.contract is not None:
            replies.append(_computing_calls(case, turn, before, changed))
        replies.append(tuple(Call(WRITE, {"name": name, "value": expected.state[name]}) for name in changed))
        yield [calls for calls in replies if calls]
        known |= {*used, *changed}
        before = expected.state


def _computing_calls(case: Case, turn: Turn, before: dict[str, Any], changed: list[str]) -> tuple[Call, ...]:
    """Return the call that computes a turn's values, if any."""
    if turn.fetch or not changed:
        return ()
    return (Call(EXECUTE, {"code": _program(case, turn, before, changed)}),)


def _fetching_calls(golden: GoldenRun, turn: Turn) -> tuple[Call, ...]:
    if turn.fetch:
        return golden.calls(turn.fetch)
    return ()


def _program(case: Case, turn: Turn, before: dict[str, Any], changed: list[str]) -> str:
    """Return a turn's golden program with its values written out."""
    variables = case.world.variables
    values = [rebuilding(name, variables[name], repr(before[name])) for name in _used(turn, variables)]
    prints = [f"print({telling(name, variables[name])})" for name in changed]
    return "\n".join([*map(source_of, case.world.types), *values, turn.golden.replace(STAGE, ""), *prints])


def _used(turn: Turn, variables: dict[str, Any]) -> list[str]:
    """Return the variables that a golden program reads."""
    read: set[str] = set()
    for node in ast.walk(parse_python(turn.golden)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.AugAssign(target=ast.Name(id=name)):
                read.add(name)
    return [name for name in variables if name in read]


def _changed(expected: Expected, before: dict[str, Any], case: Case) -> list[str]:
    return [name for name in case.world.variables if expected.state[name] != before[name]]
