"""A block's output and error, in any framework's wording."""

import json
import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, NamedTuple

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ERROR_LINE = re.compile(
    r"^[^\w\n]*(?:(?:Output|Observation|Result|Error|ERROR|Execution (?:error|failed)|stderr|E)[:\]][^\S\n]*)*"
    r"(?P<error>(?:[A-Za-z_]\w*\.)*(?P<type>[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Died|Timeout)|StopIteration|ExceptionGroup)"
    r"(?::\s*(?P<message>.*))?)$",
    re.MULTILINE,
)
TRACEBACK = "Traceback (most recent call last)"
_FAILED_LINE = re.compile(r"^.*\bdue to:\s*(?P<error>[A-Z]\w*(?:Error|Exception)\b.*)$", re.MULTILINE)
"""smolagents: `Code execution failed at line '...' due to: InterpreterError: ...`."""
_ANY_ERROR = re.compile(r"(?:(?:\w+\.)+\w+|[A-Z]\w*)(?:: .*)?")
"""The line of an error whose class has a name of its own, as `__main__.Refused: no`."""
_STOPPED = re.compile(
    r"\btimed? ?out\b (?:after|\()|\b(?:execution|command|code|cell|process) timed out"
    r"|(?P<died>\bkernel (?:has |was )?(?:died|crashed|restarted))",
    re.IGNORECASE,
)
_ADDED_LINE = re.compile(
    r"\s*(?:\[.*\]|<.*>|\(.*\)|[^\w\s]+|[\w@:~/.-]*[$#%>]|(?:Exit|Wall|Execution|Elapsed|Time|Current|Please|Now)\b.*)\s*"
)
"""A line that a harness adds below an output: brackets, tags, rules, prompts, times, advice."""
_EXIT_CODE = re.compile(
    r"(?:<returncode>|\bexit(?:ed with)?(?: ?code| status)?[ :]+)(?P<code>-?\d+)\b"
    r"(?! (?:if|when|on|unless|for|means|indicates|otherwise)\b)",
    re.IGNORECASE,
)
"""An exit status, but not a manual's sentence about one, as `exit code 1 if none matches`."""
_MISSING_NAME = re.compile(
    r"name ['`]?(?P<plain>\w+)['`]? is not defined|[Vv]ariable ['`](?P<variable>\w+)['`] is not defined"
    r"|(?:local|free) variable ['`](?P<local>\w+)['`]"
)
_UNDEFINED = re.compile(r"\b(?:name|variable) ['`]\w+['`] is not defined")
"""What stays of a `NameError` where a harness words it anew."""
_BLOCK_LINE = re.compile(
    r'(?:File "<[^<>\n]*>", line |Cell In ?\[\d+\], line |<cell line: |^-+> ?)(?P<line>\d+)', re.MULTILINE
)
_MODULE_LINE = re.compile(r'File "[^"\n]*", line (?P<line>\d+), in <module>')
_ERROR_KEYS = ("error", "exception", "traceback", "error_code", "error_message")
_OUTPUT_KEYS = ("output", "stdout", "logs", "content", "text")
_EXIT_KEYS = ("return_code", "returncode", "exit_code", "exitCode")
_OUTCOME_KEYS = {*_ERROR_KEYS, *_OUTPUT_KEYS, *_EXIT_KEYS, "stderr", "result", "outputs"}


_FAILURES = (("status", "error"), ("status", "failed"), ("success", False), ("isError", True), ("is_error", True))
"""Flags of an outcome that failed."""


class Outcome(NamedTuple):
    """Output and error of a block."""

    output: str
    error: str | None = None
    result: str | None = None
    is_declared: bool = False
    """Whether a field, a flag or a harness's own words say that the block failed."""
    exit_code: int | None = None
    """Exit status in a field."""


def read_outcome(content: Any) -> Outcome:
    """Return the outcome in what a tool or harness sent.

    Text, JSON, parts or an object.
    """
    if isinstance(content, list):
        content = text_of_parts(content)
    if isinstance(content, str):
        held = _json_object(content)
        if held is None:
            return Outcome(content, find_error(content), is_declared=_FAILED_LINE.search(content) is not None)
        return _outcome_of(held, content)
    if isinstance(content, Mapping):
        return _outcome_of(content, json.dumps(content))
    return Outcome("" if content is None else str(content))


def text_of_parts(content: Any) -> str:
    """Return the text of a message's content, string or parts."""
    if isinstance(content, Mapping):
        held = content.get("text") or content.get("content") or ""
        return text_of_parts(held) if isinstance(held, list) else str(held)
    if isinstance(content, list):
        return "".join(map(_text_of_part, content))
    if isinstance(content, str):
        return content
    return ""


def _text_of_part(part: Any) -> str:
    held = part.get("text") if isinstance(part, Mapping) else part
    if isinstance(held, str):
        return held
    return ""


def find_error(text: str) -> str | None:
    """Return the error at an output's end or in its traceback."""
    if not text:
        return None
    plain = plain_text(text)
    found = _error_lines(plain)
    if found and (TRACEBACK in plain or _is_at_an_end(found[-1], plain)):
        return found[-1]
    failed = _FAILED_LINE.search(plain)
    if failed is not None:
        return failed["error"]
    return _raised(plain) or _time_out(plain) or _undefined_name(plain) or _failed_exit(plain)


def _error_lines(text: str) -> list[str]:
    """Return the errors in a text; without a traceback a warning is none."""
    has_traceback = TRACEBACK in text
    errors = []
    for found in _ERROR_LINE.finditer(text):
        if has_traceback or not found["type"].endswith("Warning"):
            errors.append(found["error"].strip())
    return errors


def error_type(error: str) -> str:
    """Return the class name in an error's last line, or `Exception`."""
    found = [match["type"] for match in _ERROR_LINE.finditer(plain_text(error))]
    if found:
        return found[-1]
    failed = _FAILED_LINE.search(error)
    if failed is not None:
        return failed["error"].partition(":")[0]
    if _ANY_ERROR.fullmatch(error) and "." in error.partition(":")[0]:
        return error.partition(":")[0].rpartition(".")[2]
    return "Exception"


def missing_name(error: str | None) -> str | None:
    """Return the name that an error says is not defined."""
    found = _MISSING_NAME.search(error or "")
    if found is None:
        return None
    return found["plain"] or found["variable"] or found["local"]


def error_line(output: str | None, error: str | None) -> int | None:
    """Return the block's line that raised, where a traceback names it.

    A harness's own frames come first: of frames in files, the last one of a module counts.
    """
    text = plain_text(f"{output or ''}\n{error or ''}")
    for part in (_last_traceback(text), text):
        lines = _BLOCK_LINE.findall(part) or _MODULE_LINE.findall(part)[-1:]
        if lines:
            return int(lines[0])
    return None


def failed_source(output: str | None, error: str | None) -> str | None:
    """Return the source that raised, where smolagents tells it."""
    _, _, after = f"{output or ''}\n{error or ''}".partition("failed at line '")
    source, mark, _ = after.partition("' due to: ")
    if not mark:
        return None
    return source


def plain_text(text: str) -> str:
    """Return a text without a terminal's colours."""
    return _ANSI.sub("", text)


def exit_status(text: str) -> int | None:
    """Return the last exit status that a text tells, if any."""
    codes = [found["code"] for found in _EXIT_CODE.finditer(text)]
    if not codes:
        return None
    return int(codes[-1])


def _last_traceback(text: str) -> str:
    """Return a text from its last traceback on, or all."""
    return text[max(text.rfind(TRACEBACK), 0) :]


def _is_at_an_end(error: str, text: str) -> bool:
    lines = [*_filled_lines(text)[:1], *last_lines(text)]
    return any(error.partition("\n")[0] in line for line in lines)


def last_lines(text: str) -> list[str]:
    """Return a text's last line, and what a harness adds below it."""
    lines = _filled_lines(text)
    added = list(takewhile(_ADDED_LINE.fullmatch, reversed(lines)))
    return lines[-len(added) - 1 :]


def _raised(text: str) -> str | None:
    """Return the error of a class with any name, below a traceback."""
    if TRACEBACK not in text:
        return None
    below = _last_traceback(text).splitlines()[1:]
    found = [line for line in below if _ANY_ERROR.fullmatch(line)]
    return next(iter(found), None)


def _time_out(text: str) -> str | None:
    """Return the time-out or dead kernel told at an end."""
    if _STOPPED.search(text) is None:
        return None
    for line in (*_filled_lines(text)[:1], *last_lines(text)):
        found = _STOPPED.search(line)
        if found is not None:
            kind = "KernelDied" if found["died"] else "TimeoutError"
            return f"{kind}: {line.strip()}"
    return None


def _undefined_name(text: str) -> str | None:
    """Return the `NameError` that an output's first or last line tells."""
    if "is not defined" not in text:
        return None
    found = [_UNDEFINED.search(line) for line in (*_filled_lines(text)[:1], *last_lines(text))]
    return next((f"NameError: {match[0]}" for match in found if match), None)


def _filled_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _failed_exit(text: str) -> str | None:
    """Return a nonzero exit status as an error, else null."""
    status = exit_status(text)
    if not status:
        return None
    return f"NonZeroExit: exit code {status}"


def _json_object(text: str) -> Mapping[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _outcome_of(held: Mapping[str, Any], text: str) -> Outcome:
    held = _flat(held)
    if not _OUTCOME_KEYS & held.keys():
        failure = _named_error(held) or _flagged_error(held, text)
        return Outcome(text, find_error(text) or failure, is_declared=failure is not None)
    stderr = text_of_parts(held.get("stderr"))
    output = "\n".join(filter(None, [*(_printed(held.get(key)) for key in _OUTPUT_KEYS), stderr]))
    result = _as_text(held.get("result"))
    named = _named_error(held)
    if named is not None:
        return Outcome(output, named, result, is_declared=True)
    failure = _exit_error(held, stderr) or _flagged_error(held, output)
    is_declared = failure is not None or _FAILED_LINE.search(output) is not None
    return Outcome(output, find_error(output) or failure, result, is_declared, _exit_code(held))


def _printed(value: Any) -> str:
    """Return what a field of output holds: a number, or a content's text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return text_of_parts(value)


def _flat(held: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an outcome with the fields that it nests."""
    nested = held.get("observation")
    if isinstance(nested, Mapping):
        held = nested
    for key in ("logs", "metadata"):
        inner = held.get(key)
        if isinstance(inner, Mapping):
            held = {**held, **inner}
    return held


def _named_error(held: Mapping[str, Any]) -> str | None:
    """Return the error in an outcome's own fields."""
    if held.get("error_type") and held.get("error_message"):
        return f"{held['error_type']}: {held['error_message']}"
    if held.get("ename"):
        return f"{held['ename']}: {held.get('evalue') or ''}"
    given = next((held[key] for key in _ERROR_KEYS if held.get(key)), None)
    if given is not None:
        return _read_error(given)
    return None


def _flagged_error(held: Mapping[str, Any], output: str) -> str | None:
    if not any(item in _FAILURES for item in held.items()):
        return None
    lines = _filled_lines(output) or ["no output"]
    said = held.get("evalue") or held.get("message") or lines[-1].strip()
    return find_error(str(said)) or f"{held.get('ename') or 'ToolError'}: {said}"


def _as_text(result: Any) -> str | None:
    if result is None or isinstance(result, str):
        return result
    return json.dumps(result)


def _read_error(given: Any) -> str:
    """Return an error given as text or object."""
    if not isinstance(given, Mapping):
        return str(given)
    kind = _first_held(given, "type", "name", "ename")
    message = _first_held(given, "message", "value", "evalue")
    if not (kind or message):
        message = json.dumps(given)
    if _FAILED_LINE.search(message):
        return message.strip()
    return find_error(message) or f"{kind or 'Exception'}: {message}"


def _first_held(held: Mapping[str, Any], *keys: str) -> str:
    """Return the text of the first field that is filled, or none."""
    return next((str(held[key]) for key in keys if held.get(key)), "")


def _exit_code(held: Mapping[str, Any]) -> int | None:
    return next((held[key] for key in _EXIT_KEYS if isinstance(held.get(key), int)), None)


def _exit_error(held: Mapping[str, Any], stderr: str) -> str | None:
    code = _exit_code(held)
    if not code:
        return None
    lines = _filled_lines(stderr)
    return f"NonZeroExit: exit code {code}{': ' + lines[-1].strip() if lines else ''}"
