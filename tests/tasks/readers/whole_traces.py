"""Every made-up recording as it is read, whole.

`python -m tests.tasks.readers.whole_traces` writes the kept files of `made_up/` anew; read their diff.
"""

import json
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

from carryover.tasks.readers.conversation import replies_of
from carryover.tasks.readers.import_setting import ImportSetting
from carryover.tasks.readers.importing import import_traces
from carryover.tasks.readers.reading import read_traces, read_value
from carryover.tasks.readers.tally import Tally
from carryover.tasks.readers.trace import Block, OpeningMessage, Reply, Trace
from tests.tasks.readers.made_up_layouts import PYTHON_LAYOUTS, SHELL_LAYOUTS, WITHOUT_OUTCOMES

MADE_UP = Path(__file__).parent / "made_up"
KEPT = MADE_UP / "traces.json"
KEPT_ROWS = MADE_UP / "rows.json"
KEPT_REPLIES = MADE_UP / "replies.json"
KEPT_READINGS = MADE_UP / "readings.json"
KEPT_CONVERSATIONS = MADE_UP / "conversations.json"
SETTING = ImportSetting(run_id="import", runtime_contract="persistent")
IDENTIFIERS = ("run_id", "episode_id")
IMPORTED = (
    "OpenAI calls",
    "smolagents",
    "Inspect JSON",
    "authors",
    "Claude Code in shell",
    "29_import_traceback.jsonl",
)
ANSWER = {"role": "tool", "content": "1"}


def _call(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "tool_calls": [{"id": "c", "function": {"name": name, "arguments": arguments}}],
        **more,
    }


def _say(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


MESSAGES = (
    *(_call(name, {"code": "x = 1"}) for name in ("python", "run", "bash", "jupyter_exec", "run_js", "powershell")),
    *(_call("run", {"code": "x", "language": name}) for name in ("Python 3", "sh", "R", "html", "console", "")),
    *(
        _call("run", {key: "x = 1"})
        for key in ("source", "python", "script", "python_code", "cell", "program", "snippet")
    ),
    *(_call("tool", {key: "ls"}) for key in ("command", "cmd", "commands", "bash_command", "keystrokes", "other")),
    *(_call("python", {"text": "x", key: "y"}) for key in ("path", "filename", "old_str", "view_range")),
    _call("python", {"text": "x = 1"}, content="So.", usage={"prompt_tokens": 7, "output_tokens": 3}),
    _call("python", {"a": "x", "b": "y"}),
    _call("python", {"restart": True}),
    _call("python", {"code": None}),
    _call("execute_sql", "select 1"),
    _call("functions.submit", {"answer": "x"}),
    _call("shell", {"command": ["bash", "-lc", "ls | wc"]}),
    _call("shell", {"command": ["/bin/sh", "-c"]}),
    _call("shell", {"commands": ["ls\n", "pwd"]}),
    _call("python", {"code": ["x = 1", 2]}),
    _call("python", {"code": True}),
    _call("python", "```python\nx = 1\n```"),
    _call("terminal", "~~~\nls\n~~~"),
    _call("python", '"x = 1"'),
    _call("python", '{"code": "a\tb"}'),
    _call("", "x = 1"),
    _say("```python\nx = 1\n```\n```bash\nls\n```\n```js\nf()\n```\n```json\n{}\n```"),
    _say("1. Run:\n   ```{.python .numberLines}\n   x = 1\n   ```\n> ```sh\n> ls\n> ```"),
    _say("<execute>x = 1</execute><execute_bash>ls</execute_bash><code>y</code>\n```python\nz\n```"),
    _say("<code>x = 1</code>\n```output\n2\n```\n<output>KeyError: 1</output>"),
    _say("<tool_call>{broken}</tool_call>"),
    _say('<function_call>{"name": "python", "parameters": {"code": "x = 1"}}</function_call>'),
    _say("<tool_call>print(1)</tool_call> and <tool_call>some words</tool_call>"),
    _say("```pycon\n>>> x = 1\n>>> x\n1\n```\n```console\n$ ls\na.py\n```"),
    _say("```python\nx = (\n"),
    _say("<code>\nx = 1\n"),
    _say("~~~~python\n```\nx\n```\n~~~~"),
    _say([{"type": "thinking", "thinking": "```python\nno\n```"}, {"type": "text", "text": "```\nx = 1\n```"}]),
    _say([{"type": "tool_use", "id": "t", "name": "bash", "input": {"command": "ls"}}, {"type": "new", "input": 1}]),
    {"role": "assistant", "content": "x = 1", "recipient": "python"},
    {"from": "gpt", "value": "```\nx = 1\n```", "token_usage": {"input_tokens": 2, "completion_tokens": None}},
    {"role": "MODEL", "parts": ["```\nx = 1\n```"]},
    {"role": "function_call", "content": '{"name": "python", "arguments": {"code": "x = 1"}}'},
)
"""Messages that hand code to an interpreter, or do not, in every form."""
RECORDINGS = (
    {name: content for name, (_, content) in PYTHON_LAYOUTS.items()}
    | {f"{name} in shell": content for name, (_, content) in SHELL_LAYOUTS.items()}
    | {name: content for name, (_, content) in WITHOUT_OUTCOMES.items()}
    | {file.name: file.read_bytes() for file in sorted(MADE_UP.glob("[0-9]*"))}
)


def whole(path: Path) -> list[dict[str, Any]]:
    """Return the traces of a file, without fields that have their defaults and the place."""
    return [kept_trace(trace) for trace in read_traces(path)]


def kept_trace(trace: Trace) -> dict[str, Any]:
    """Return a trace as the kept files have it."""
    told = {}
    for each in fields(Trace):
        value = getattr(trace, each.name)
        if each.name != "place" and value not in (each.default, {}):
            told[each.name] = plain(value)
    return told


def plain(value: Any) -> Any:
    """Return a value as JSON keeps it, without fields that have their defaults."""
    if isinstance(value, Block | Reply | OpeningMessage):
        usual = type(value)._field_defaults
        return {name: plain(held) for name, held in value._asdict().items() if name not in usual or held != usual[name]}
    if hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, str | int | float | bool | dict):
        return value
    return str(value)


def whole_rows(path: Path) -> list[dict[str, Any]]:
    """Return a file's episodes as rows by table, without empty columns."""
    (imported,) = import_traces(path, SETTING)
    told = {table: [_filled(row) for row in rows] for table, rows in imported.tables().items()}
    return json.loads(json.dumps(told))


def _filled(row: Any) -> dict[str, Any]:
    held = row.model_dump(mode="json").items()
    return {name: value for name, value in held if value not in (None, [], "", False) and name not in IDENTIFIERS}


def whole_replies() -> dict[str, Any]:
    """Return the replies in messages of every form, by the message."""
    return {json.dumps(message): plain(replies_of([message, ANSWER])) for message in MESSAGES}


def whole_reading(records: list[Any]) -> dict[str, Any]:
    """Return records with their traces, and with what is said to be unread."""
    tally = Tally()
    traces = [kept_trace(trace) for trace in read_value(records, tally, "r")]
    return {"records": records, "traces": traces, "said": tally.sentences()}


def whole_conversation(messages: list[Any]) -> dict[str, Any]:
    """Return messages with their replies."""
    return {"messages": messages, "replies": plain(replies_of(messages))}


def _write() -> None:
    traces = {}
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        for name, content in RECORDINGS.items():
            path.write_bytes(content)
            traces[name] = whole(path)
            if name in IMPORTED:
                rows[name] = whole_rows(path)
    _keep(KEPT, traces)
    _keep(KEPT_ROWS, rows)
    _keep(KEPT_REPLIES, whole_replies())
    readings = json.loads(KEPT_READINGS.read_text(encoding="utf-8"))
    _keep(KEPT_READINGS, {name: whole_reading(held["records"]) for name, held in readings.items()})
    conversations = json.loads(KEPT_CONVERSATIONS.read_text(encoding="utf-8"))
    _keep(KEPT_CONVERSATIONS, {fact: whole_conversation(held["messages"]) for fact, held in conversations.items()})


def _keep(file: Path, held: dict[str, Any]) -> None:
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(each, sort_keys=True)}" for name, each in held.items())
    file.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    _write()
