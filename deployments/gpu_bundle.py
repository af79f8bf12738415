"""Take a study to a GPU machine without network, and its rows back.

usage: python deployments/gpu_bundle.py pack BUNDLE.tar [--python 3.12] [--wheels all | NAME ...]
           -- --base-model FOLDER OPTION ...           # one line; or --scale NAME --device gpu
       tar xf BUNDLE.tar && sh bundle/run.sh                  # there; it resumes
       python deployments/gpu_bundle.py merge rows.tar        # here

`pack` collects the teacher traces and prepares the training data of a plan: `pretrained`, unless `--scale` names
another. The options after `--` are those of `carryover run`. The bundle holds them with the base, if the plan adapts
one, this checkout as a wheel, and the wheels that the image there lacks. `run.sh` trains the models, plays every cell,
computes the statistics and packs the landed rows, which `merge` takes into the data folder.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.bundles import MANIFEST_FOLDER
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.folders import open_folders
from carryover.tasks.services.hub import expanded
from carryover.tasks.services.whole_files import written_whole

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "deployments" / "constraints.txt"
STAGES = ("generate-instances", "collect-traces", "prepare-training")
"""Stages that need no GPU."""
FROM_THE_IMAGE = ("torch", "torchvision", "torchaudio", "triton", "nvidia-", "cuda-")
"""Packages that `--wheels all` leaves to the image: they belong to its driver."""
PLATFORMS = (*(f"manylinux_2_{minor}_x86_64" for minor in range(28, 16, -1)), "manylinux2014_x86_64")
"""Wheels that glibc 2.28 or later runs; pip takes no name for all of them."""
SOURCE = ("flows", "tasks", "storage", "sql", "pyproject.toml", "README.md", "LICENSE")
"""Parts of the checkout that its wheel is built from."""
BASE_MODEL = "--base-model"
SCALE = "--scale"


def main(arguments: Sequence[str]) -> None:
    """Pack a bundle or merge its rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="collect, prepare and pack")
    packing.add_argument("bundle", type=Path, help="new tar file")
    packing.add_argument("--wheels", nargs="+", default=[], help="packages to take along, or all")
    packing.add_argument(
        "--python", type=_python_version, help="Python there, e.g. 3.12, on Linux x86-64 (default: this one)"
    )
    merging = commands.add_parser("merge", help="take the rows into the data folder")
    merging.add_argument("rows", type=Path, help="rows.tar")
    merging.add_argument("--home", type=Path, default=None, help="data folder (default: CARRYOVER_HOME, or data)")
    own, options = _divided(arguments)
    given = parser.parse_args(own)
    try:
        if given.command == "pack":
            pack_bundle(given.bundle, options, given.wheels, given.python)
        else:
            print(f"{merge_rows(given.rows, given.home)} new bundles of rows merged")
    except UserError as error:
        sys.exit(f"error: {error}")


def pack_bundle(bundle: Path, options: Sequence[str], wheels: Sequence[str] = (), python: str | None = None) -> None:
    """Write a bundle, with wheels for `python` on Linux or for this interpreter.

    Raise `UserError` for a base that is not here, a `python` that no wheels are for, or a stage or download that fails.
    """
    if python is not None and not wheels:
        raise UserError(f"--python {python} chooses wheels, and none are asked for; name some with --wheels, or all")
    base = _base_of(options)
    with tempfile.TemporaryDirectory(prefix="carryover-bundle-") as made:
        folder = Path(made) / "bundle"
        folder.mkdir()
        told = list(options)
        if base is not None:
            shutil.copytree(base, folder / "base" / base.name)
            told[told.index(BASE_MODEL) + 1] = f"base/{base.name}"
        if SCALE not in told:
            told = [SCALE, "pretrained", *told]
        shutil.copy(ROOT / "deployments" / "gpu_bundle.sh", folder / "run.sh")
        (folder / "options.txt").write_text(shlex.join(told) + "\n", encoding="utf-8")
        _collect_wheels(folder / "wheels", wheels, python)
        _play_stages(folder, told)
        with written_whole(bundle) as unfinished, tarfile.open(unfinished, "w") as tar:
            tar.add(folder, "bundle")


def merge_rows(rows: Path, home: Path | None = None) -> int:
    """Merge packed rows into a data folder; return the number of new bundles.

    Rows that have landed already are left as they are. Raise `UserError` for a file that holds anything else.
    """
    folders = open_folders(home)
    zone = LandingZone(folders.landing)
    known = {manifest.bundle_id for manifest in zone.manifests().bundles}
    try:
        with tarfile.open(rows) as tar:
            for path, content in _landed_files(tar):
                if not zone.store.has(path):
                    zone.store.write(path, content)
    except (tarfile.TarError, OSError) as error:
        raise UserError(
            f"cannot read {rows}: {error}; it is no rows.tar of a bundle, or its copy is cut off"
        ) from error
    merge(folders.landing, folders.warehouse)
    return len({manifest.bundle_id for manifest in LandingZone(folders.landing).manifests().bundles} - known)


def _divided(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the script's own arguments, and those after `--`."""
    if "--" not in arguments:
        return arguments, ()
    place = arguments.index("--")
    return arguments[:place], arguments[place + 1 :]


def _python_version(text: str) -> str:
    """Return a version that wheels are named after; Carryover needs 3.11 or later."""
    version = re.fullmatch(r"3\.(\d+)", text)
    if version is None or int(version[1]) < 11:
        raise argparse.ArgumentTypeError(f"unsupported Python {text!r}; give 3.11 or a later minor version, e.g. 3.12")
    return text


def _base_of(options: Sequence[str]) -> Path | None:
    """Return the folder of the base that the options name; None for a plan that trains models of its own."""
    if BASE_MODEL not in options[:-1]:
        if SCALE in options[:-1] and _trains_its_own(options[options.index(SCALE) + 1]):
            return None
        raise UserError(f"a bundle needs {BASE_MODEL} FOLDER after --, or {SCALE} of a plan that trains its own models")
    named = options[options.index(BASE_MODEL) + 1]
    folder = Path(expanded(named)).resolve()
    if not folder.is_dir():
        raise UserError(f"base model {named} is not a folder here; the bundle takes its files along")
    return folder


def _trains_its_own(scale: str) -> bool:
    """Tell whether a plan trains its models from scratch; the first stage refuses an unknown plan.

    Raise `UserError` for one that reinforces them.
    """
    parts = PLANS[scale]("").parts if scale in PLANS else ()
    if any(part.reinforcement is not None for part in parts):
        raise UserError(f"plan {scale} reinforces its models, which needs no GPU; play it with `carryover run`")
    return all(part.training.base != "hub" for part in parts)


def _collect_wheels(folder: Path, names: Sequence[str], python: str | None) -> None:
    """Build this checkout's wheel and download those of other packages, without their dependencies."""
    pip = [sys.executable, "-m", "pip"]
    with tempfile.TemporaryDirectory(prefix="carryover-source-") as made:
        source = Path(made)
        for name in SOURCE:  # a build in the checkout would take along what earlier builds have left there
            _copy(ROOT / name, source / name)
        _call([*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), made])
    wanted = _constrained() if list(names) == ["all"] else list(names)
    if wanted:
        download = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--constraint", str(CONSTRAINTS)]
        _call([*pip, *download, *_interpreter_options(python), "--dest", str(folder), *wanted])


def _interpreter_options(python: str | None) -> list[str]:
    """Return pip's options for another interpreter than its own."""
    if python is None:
        return []
    options = ["--implementation", "cp", "--python-version", python]
    for platform in PLATFORMS:
        options += ["--platform", platform]
    return options


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    else:
        shutil.copy(source, target)


def _constrained() -> list[str]:
    """Return the pinned packages, without those of the image."""
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if "==" in line and not line.lower().startswith(FROM_THE_IMAGE)]


def _play_stages(folder: Path, options: Sequence[str]) -> None:
    """Play the stages that need no GPU, with the bundle's own code."""
    site = folder / "site"
    install = ["pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(site)]
    _call([sys.executable, "-m", *install, *map(str, (folder / "wheels").glob("carryover-*.whl"))])
    environment = {key: value for key, value in os.environ.items() if key != "CARRYOVER_LANDING"}
    environment |= {"PYTHONPATH": str(site), "CARRYOVER_HOME": str(folder / "data")}
    for stage in STAGES:
        command = [sys.executable, "-m", "carryover.flows.cli.start", "stage", stage, *options]
        _call(command, folder=folder, environment=environment)
    shutil.rmtree(site)  # run.sh installs for the interpreter there


def _call(command: Sequence[str], *, folder: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
    """Run a command; raise `UserError` with its last words if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise UserError(f"{shlex.join(command[:6])} ... failed: {said[-2000:]}")


def _landed_files(tar: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of packed landing files, manifests last: they commit what they name."""
    files = [member for member in tar.getmembers() if not member.isdir()]
    for member in files:
        is_plain = member.isreg() and member.name.startswith("landing/") and ".." not in Path(member.name).parts
        if not is_plain:
            raise UserError(f"{member.name!r} is no landed file; the rows were not packed by run.sh")
    prefix = f"landing/{MANIFEST_FOLDER}/"
    for member in sorted(files, key=lambda each: each.name.startswith(prefix)):
        content = tar.extractfile(member)
        assert content is not None  # a regular file
        yield member.name.removeprefix("landing/"), content.read()


if __name__ == "__main__":
    main(sys.argv[1:])
