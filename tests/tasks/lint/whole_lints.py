"""Traces of every kind that the lint tells apart, and all that it finds in them.

`python -m tests.tasks.lint.whole_lints` writes `lints.json` and `page.html` anew; read their diff before you keep it.
"""

import json
from pathlib import Path
from typing import Any

from carryover.tasks.lint.lint import lint_in_detail
from carryover.tasks.lint.report import PageRows, html_page
from carryover.tasks.lint.summary import LintSummary
from carryover.tasks.readers.trace import Block, Reply, Trace

KEPT = Path(__file__).with_name("lints.json")
KEPT_PAGE = Path(__file__).with_name("page.html")
SMOLAGENTS = "Code execution failed at line 'late = area' due to: InterpreterError: The variable `area` is not defined."
DRAW = "import matplotlib.pyplot as plt\nplt.plot([1])"


def missing(name: str, line: int | None = None) -> str:
    """Return a `NameError`, with its traceback where a line is given."""
    error = f"NameError: name '{name}' is not defined"
    if line is None:
        return error
    return f'Traceback (most recent call last):\n  File "<string>", line {line}, in <module>\n{error}'


def _trace(name: str, *blocks: Block, **about: Any) -> Trace:
    replies = tuple(Reply(f"Next.\n```\n{block.code}\n```", (block,)) for block in blocks)
    return Trace(trace_id=name, replies=replies, **about)


def _shell(*commands: str) -> list[Block]:
    return [Block(command, output="", language="shell") for command in commands]


TRACES = (
    _trace(
        "carries",
        Block("import json\nrows = [1, 2, 3]\ndef show(x): print(x, later)", output=""),
        Block("show(rows)\ndel rows\nprint(json.dumps(rows))", output="3"),
        Block("later = 1\nprint(show, json)", output="ok"),
        declared_contract="stateless",
        layout="made up",
    ),
    _trace(
        "restates",
        Block("import json, os\nfrom math import sqrt, pi\nids = ['a', 'b', 'c']\ntotal = 0", output="a b c"),
        Block("import json\nfrom math import pi\nids = ['a', 'b', 'c']\nprint(ids)", output=""),
        Block("import os, sys\nkeys = ('a', 'b', 'c')\ntotal = 0\nfor i in keys:\n    total += 1", output=""),
        declared_contract="persistent",
    ),
    _trace("mixed", Block("rows = [1]"), Block("rows = [1]\nprint(rows)"), Block("print(rows)"), Block("rows += [2]")),
    _trace(
        "is stateless",
        Block("area = 3\nside = 2", output=""),
        Block("early = 1\nprint(area)\nlate = 2", output=missing("area", 2), error=missing("area")),
        Block("print(early, late)", output="", error=missing("late")),
        Block("late = area", output="", error=SMOLAGENTS),
        Block("try:\n    print(side)\nexcept NameError as e:\n    print(e)", output="no", caught=missing("side")),
        Block("area = 3\nprint(area + side)", output="", error="ValueError: no"),
        Block("x = (", output="", error="SyntaxError: '(' was never closed"),
        declared_contract="injected",
    ),
    _trace("is persistent", *(Block(code, output="1") for code in ("a = 1", "b = a", "print(a, b)", "1 + 1", "_ + a"))),
    _trace("unjudged", Block("x = 1"), Block("exec(text)"), Block("%%javascript\nx")),
    _trace("alone", Block("x = 1\nprint(x)")),
    _trace("safe", Block("x = 1"), Block("y = 2")),
    Trace(trace_id="no code", replies=(Reply("Nothing."),)),
    Trace(trace_id="unread", replies=(Reply("", (Block("x = 1"),), unread=("a block of r",)), Reply("Done."))),
    _trace(
        "state",
        Block("%pip install humanize\nimport os\nos.chdir('/tmp')\nos.environ['A'] = '1'\nopen('a.txt', 'w')"),
        Block("import subprocess\nserver = subprocess.Popen(['python', '-m', 'http.server'])\n" + DRAW),
        Block("import humanize, os\nos.getcwd(), os.environ['A']\nprint(open('a.txt').read())"),
        Block("import matplotlib.pyplot as plt\nplt.title('a')\nrequests.get('http://localhost:8000')"),
    ),
    _trace("shell", *_shell("export W=3; cd src; touch a", "echo $W > b; cat a", "python -c 'print(n)'", "jobs")),
    _trace("commands", *_shell("python -c 'n = 1'", "python -c 'print(n)'")),
    _trace("both", Block("x = 1"), *_shell("ls"), has_fresh_processes=True),
    _trace("starred", Block("print(sqrt(2))"), Block("from math import *\nprint(pi)"), Block("print(e, sqrt(3))")),
    _trace("own builtins", Block("sum = 3\nprint(max(1, 2))"), Block("print(sum + 1)"), Block("for id in [1]: pass")),
)


def findings() -> dict[str, Any]:
    """Return all findings about the traces, as JSON holds them."""
    told: dict[str, Any] = {}
    summary = LintSummary()
    for trace in TRACES:
        found = lint_in_detail(trace)
        summary.add(found.trace)
        told[trace.trace_id] = found.trace._asdict() | {"blocks": found.blocks, "takes": found.trace.takes}
    told["summary"] = {"sentence": summary.sentence(), "rows": summary.rows(), "names": summary.first_names()}
    return json.loads(json.dumps(told))


def page() -> str:
    """Return the page about the traces."""
    summary = LintSummary()
    rows = PageRows()
    for lint in summary.follow(lint_in_detail(trace).trace for trace in TRACES):
        rows.add(lint)
    return html_page("Traces <made up>", summary, rows.rows(), ["1 unread: unknown layout"])


if __name__ == "__main__":
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in findings().items())
    KEPT.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    KEPT_PAGE.write_text(page(), encoding="utf-8")
