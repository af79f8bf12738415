"""The owners' readers of exported formats, each in a folder of its own: they would not install beside us."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple


class Owner(NamedTuple):
    """A package that reads its own format, and a script that reads the files whose names it is told, one a line."""

    requirements: tuple[str, ...]
    has_dependencies: bool
    python: str
    script: str

    @property
    def folder(self) -> Path:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "carryover"
        return cache / f"{self.requirements[0].replace('==', '-')}-{self.python}"


INSPECT = Owner(
    requirements=("inspect-ai==0.3.285",),
    has_dependencies=True,
    python=f"python{sys.version_info.major}.{sys.version_info.minor}",
    script="""
import sys
from pathlib import Path
from inspect_ai.log import list_eval_logs, read_eval_log
names = sys.stdin.read().splitlines()
folders = {str(Path(name).parent) for name in names}
listed = [log.name for folder in folders for log in list_eval_logs(folder)]
assert len(listed) == len(names), f"inspect view lists {listed}"
assert all(read_eval_log(name, header_only=True).results for name in listed)
count = prompt = completion = events = 0
for name in names:
    log = read_eval_log(name)
    count += len(log.samples)
    prompt += sum(usage.input_tokens for usage in log.stats.model_usage.values())
    completion += sum(usage.output_tokens for usage in log.stats.model_usage.values())
    events += sum(event.event == "tool" for sample in log.samples for event in sample.events)
print(count, prompt, completion, events)
""",
)
HARBOR = Owner(
    requirements=("harbor==0.26.0", "pydantic==2.14.4", "pydantic-core", "annotated-types", "typing-inspection",
                  "typing-extensions"),
    has_dependencies=False,
    python="python3.12",
    script="""
import sys
from pathlib import Path
from harbor.models.trajectories.trajectory import Trajectory
from harbor.utils.trajectory_validator import TrajectoryValidator
validator = TrajectoryValidator()
count = prompt = completion = calls = 0
for name in sys.stdin.read().splitlines():
    assert validator.validate(Path(name)), validator.errors
    read = Trajectory.model_validate_json(Path(name).read_text())
    count += 1
    prompt += read.final_metrics.total_prompt_tokens
    completion += read.final_metrics.total_completion_tokens
    calls += sum(len(step.tool_calls or ()) for step in read.steps)
print(count, prompt, completion, calls)
""",
)  # fmt: skip
PHOENIX = Owner(
    requirements=("arize-phoenix==20.26.1",),
    has_dependencies=True,
    python=f"python{sys.version_info.major}.{sys.version_info.minor}",
    script="""
import base64, json, sys
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from phoenix.trace.otel import decode_otlp_span

# OTLP's JSON writes identifiers as hexadecimal digits, protobuf's own JSON as Base64.
def with_base64(span):
    ids = {name for name in span if name in ("traceId", "spanId", "parentSpanId")}
    return span | {name: base64.b64encode(bytes.fromhex(span[name])).decode() for name in ids}

traces = set()
prompt = completion = tools = 0
for line in open(sys.stdin.read().strip()):
    request = json.loads(line)
    for scope in [each for resource in request["resourceSpans"] for each in resource["scopeSpans"]]:
        scope["spans"] = [with_base64(span) for span in scope["spans"]]
    for resource in ParseDict(request, ExportTraceServiceRequest()).resource_spans:
        for span in [decode_otlp_span(each) for scope in resource.scope_spans for each in scope.spans]:
            traces.add(span.context.trace_id)
            tools += span.span_kind.value == "TOOL"
            tokens = span.attributes.get("llm", {}).get("token_count", {})
            prompt += int(tokens.get("prompt", 0))
            completion += int(tokens.get("completion", 0))
print(len(traces), prompt, completion, tools)
""",
)


def can_provide(owner: Owner) -> bool:
    """Tell whether the package is kept already, or else offered, and its Python is here."""
    if not _runs(owner.python):
        return False
    return owner.folder.exists() or _is_offered(owner)


def _runs(python: str) -> bool:
    """Start a Python: a name that pyenv knows need not."""
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "-c", "pass"], capture_output=True, check=False).returncode == 0


def _is_offered(owner: Owner) -> bool:
    """Ask the index as the owner's Python does: a package may want a newer one than ours."""
    name, _, version = owner.requirements[0].partition("==")
    pip = [owner.python, "-m", "pip", "--disable-pip-version-check", "--retries", "0", "index", "versions", name]
    asked = subprocess.run(pip, capture_output=True, text=True, check=False)
    return asked.returncode == 0 and version in re.split(r"[^0-9a-z.]+", asked.stdout)


def read_by(owner: Owner, files: list[Path]) -> list[int]:
    """Return what the owner's reader counts: episodes, prompt tokens, completion tokens, blocks.

    The first call downloads the package.
    """
    _provide(owner)
    environment = {**os.environ, "PYTHONPATH": str(owner.folder), "NO_COLOR": "1"}
    command = [owner.python, "-c", owner.script]
    names = "\n".join(map(str, files))
    said = subprocess.run(command, env=environment, input=names, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    return [int(word) for word in said.stdout.split()]


def _provide(owner: Owner) -> None:
    owner.folder.parent.mkdir(parents=True, exist_ok=True)
    if owner.folder.exists():
        return
    unfinished = Path(tempfile.mkdtemp(dir=owner.folder.parent))
    pip = [owner.python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--target", str(unfinished)]
    if not owner.has_dependencies:
        pip.append("--no-deps")
    subprocess.run([*pip, *owner.requirements], check=True)
    try:
        unfinished.rename(owner.folder)
    except OSError:
        if not owner.folder.exists():  # as it does where another process was faster
            raise
        shutil.rmtree(unfinished)
