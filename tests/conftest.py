"""What this machine cannot run is left out of a run that asks for it, and the run says what would provide it."""

import gc
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import hypothesis
import pytest

from tests.benchmarks.control_group import can_make_control_group, control_group
from tests.flows.cli.axe_core import AXE
from tests.flows.compose_programs import compose_command, postgres_programs
from tests.tasks.cave.suites.echarts import ECHARTS
from tests.tasks.interchange.authors_repository import VARIABLE, has_checkout
from tests.tasks.interchange.owners import HARBOR, INSPECT, PHOENIX, can_provide
from tests.tasks.probe.foreign_environments import can_provide_runtimes
from tests.tasks.serving.schemathesis_program import can_provide_schemathesis
from tests.tasks.serving.vllm_environment import can_provide_vllm

# Nothing that is imported for tests is garbage.
gc.disable()

# No property test depends on the machine's pace or on luck.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.load_profile("steady")

LEFT_OUT = pytest.StashKey[list[str]]()

# Servers of tests are on this machine, whatever proxy its network has.
WITHOUT_PROXY = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), "127.0.0.1", "localhost")
os.environ["NO_PROXY"] = os.environ["no_proxy"] = ",".join(filter(None, WITHOUT_PROXY))

# No test asks a model hub, but for those that have one on loopback and say so.
os.environ["HF_HUB_OFFLINE"] = "1"


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def has_chromium() -> bool:
    return shutil.which("chromium") is not None


def can_mount() -> bool:
    mount = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0


def has_systemd() -> bool:
    return None not in map(shutil.which, ("systemd-analyze", "systemctl"))


def can_run_slurm() -> bool:
    return os.geteuid() == 0 and None not in map(shutil.which, ("slurmctld", "slurmd", "munged"))


class Need(NamedTuple):
    """What some tests need of the machine."""

    whose: str
    """Which tests, in words behind `3 tests`."""
    is_asked_by: Callable[[pytest.Item], bool]
    is_met: Callable[[], bool]
    what: str


def marked(marker: str) -> Callable[[pytest.Item], bool]:
    return lambda item: item.get_closest_marker(marker) is not None


def using(fixture: str) -> Callable[[pytest.Item], bool]:
    return lambda item: fixture in getattr(item, "fixturenames", ())


NEEDS = (
    Need("marked `gpu`", marked("gpu"), has_gpu, "a GPU that torch sees"),
    Need("marked `browser`", marked("browser"), has_chromium, "Debian's Chromium: `apt-get install chromium`"),
    Need("of rendered charts", using("echarts"), ECHARTS.exists, "echarts: `make browser`, or `npm install echarts@5`"),
    Need("of accessibility", using("axe"), AXE.exists, "axe-core: `make browser`, or `npm install axe-core@4`"),
    Need(
        "of processor time",
        using("processor_seconds"),
        can_make_control_group,
        "a control group of their own to count the sandbox's processes in: run them as root",
    ),
    Need("on Slurm", using("cluster"), can_run_slurm, "root and Debian's Slurm: `apt-get install slurm-wlm munge`"),
    Need("of systemd's units", using("systemd_unit"), has_systemd, "systemd's own check: `systemd-analyze`"),
    Need(
        "of Docker Compose",
        using("compose"),
        lambda: compose_command() is not None,
        "Docker Compose 2 or later: `apt-get install docker-compose` from Debian 13 on, or Docker's own plugin",
    ),
    Need(
        "on PostgreSQL",
        using("postgres"),
        lambda: postgres_programs() is not None,
        "Debian's PostgreSQL: `apt-get install postgresql`",
    ),
    Need("of a full disk", using("small_disk"), can_mount, "a file system of their own: run them as root"),
    Need(
        "of vLLM's own parser",
        using("vllm_environment"),
        can_provide_vllm,
        "vLLM from a package index, 0.3 GB at the first time",
    ),
    Need(
        "of Inspect's own reader",
        using("inspect_reader"),
        lambda: can_provide(INSPECT),
        "inspect-ai from a package index, 0.2 GB at the first time",
    ),
    Need(
        "of Harbor's own models",
        using("harbor_reader"),
        lambda: can_provide(HARBOR),
        "Python 3.12 and harbor from a package index",
    ),
    Need(
        "of Phoenix's own reader",
        using("phoenix_reader"),
        lambda: can_provide(PHOENIX),
        "arize-phoenix from a package index, 0.8 GB at the first time",
    ),
    Need("of schemathesis", using("schemathesis"), can_provide_schemathesis, "schemathesis from a package index"),
    Need(
        "of other packages' runtimes",
        using("foreign_runtime"),
        can_provide_runtimes,
        "smolagents, rlms, ... from a package index, 0.2 GB at the first time",
    ),
    Need(
        "of the authors' own scripts",
        using("authors_scripts"),
        has_checkout,
        f"a checkout of mrcabbage972/agents-learn-runtime, its folder in {VARIABLE}",
    ),
)


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """Files of tests need not outlive a crash of the machine: waiting until they would took minutes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def limit_file_size() -> Iterator[Callable[[int], AbstractContextManager[None]]]:
    """Let no file grow beyond a size while the block runs: what a full disk does, without one."""
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

    @contextmanager
    def limited(byte_count: int) -> Iterator[None]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (byte_count, unlimited[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)

    yield limited
    signal.signal(signal.SIGXFSZ, ignored)


@pytest.fixture(scope="session")
def processor_seconds() -> Iterator[Callable[[], float]]:
    """Clock of the processor time of this process and everything that it starts, dead or alive."""
    with control_group() as clock:
        yield clock


@pytest.fixture(scope="module")
def no_bucket_of_its_own() -> Iterator[None]:
    """Nothing that this machine says of object storage: no credentials, no configuration."""
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            environment.delenv(name)
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            environment.setenv(name, "/nonexistent")
        environment.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="module")
def bucket_address(no_bucket_of_its_own: None) -> Iterator[str]:
    """The address of an object store that begins empty."""
    import httpx
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    httpx.post(f"http://{host}:{port}/moto-api/reset").raise_for_status()  # servers of a process share their buckets
    yield f"http://{host}:{port}"
    server.stop()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    said = config.stash.setdefault(LEFT_OUT, [])
    for need in NEEDS:
        asking = [item for item in items if need.is_asked_by(item)]
        if asking and not need.is_met():
            items[:] = [item for item in items if item not in asking]
            config.hook.pytest_deselected(items=asking)
            said.append(f"{len(asking)} tests {need.whose} left out: they need {need.what}")


def pytest_collection_finish() -> None:
    """Collect no garbage among what tests import, and seldom: it took a fifth of their processor time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand a worker's lines to the process that reports: only workers collect tests."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash.get(LEFT_OUT, [])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Load torch in one process only, unless files keep the order that they are given in."""
    if config.option.dist != "loadfile" or not config.option.loadscopereorder:
        return None
    from tests.torch_together import TorchTogether

    return TorchTogether(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(LEFT_OUT, []):
        terminalreporter.write_line(line, yellow=True)
