"""The lint of 100,000 traces: processor time for two cores and five minutes, memory that does not grow with them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

TRACES = 100_000
FEW_TRACES = 10_000
CORE_SECONDS = 600.0
"""Five minutes of two cores."""
MOST_GROWTH = 1.2

BLOCKS = (
    "import pandas as pd\nimport json\nrows_{n} = [{{'a': j, 'b': j * {n}}} for j in range(10)]\n"
    "df = pd.DataFrame(rows_{n})\nprint(df.head())",
    "total = df['b'].sum()\nfor row in rows_{n}:\n    if row['a'] > {n}:\n        total += row['b']\nprint(total)",
    "def scale(x):\n    return x * {n}\nvalues = [scale(v) for v in df['a']]\nprint(json.dumps(values))",
    "print(total, max(values))\ndf.to_csv('out_{n}.csv')",
)


class Spent(NamedTuple):
    """What a command took."""

    processor_seconds: float
    peak_bytes: int
    said: str


def write_traces(path: Path, count: int) -> Path:
    """Write made-up chats of four blocks."""
    random = Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            messages = [{"role": "user", "content": "Add up."}]
            for block in BLOCKS:
                code = block.format(n=random.randrange(1_000))
                messages.append({"role": "assistant", "content": f"Next.\n```python\n{code}\n```"})
                messages.append({"role": "user", "content": "Output: 14"})
            file.write(json.dumps({"id": str(number), "messages": messages}) + "\n")
    return path


def lint(path: Path) -> Spent:
    """Run the command and return what it and its processes took."""
    command = [sys.executable, "-m", "carryover.flows.cli.start", "lint", str(path), "--format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return Spent(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, json.loads(said)["verdict"])


@pytest.mark.benchmark
@pytest.mark.timeout(1_800)
def test_a_hundred_thousand_traces_take_constant_memory(tmp_path, keep_figure):
    few = lint(write_traces(tmp_path / "few.jsonl", FEW_TRACES))
    many = lint(write_traces(tmp_path / "many.jsonl", TRACES))
    assert many.said.startswith(f"{TRACES} of {TRACES} episodes fail in a stateless runtime; first at block 2")
    keep_figure("100,000 traces linted, processor time", many.processor_seconds, "s", at_most=CORE_SECONDS)
    growth = many.peak_bytes / few.peak_bytes
    keep_figure("memory of 100,000 traces linted over that of 10,000", growth, "times", at_most=MOST_GROWTH)
    assert many.processor_seconds <= CORE_SECONDS
    assert growth <= MOST_GROWTH
