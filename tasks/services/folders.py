"""Where things lie on disk.

The only module that knows Carryover's environment variables.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from carryover.tasks.services.errors import UserError

HOME_VARIABLE = "CARRYOVER_HOME"
"""Environment variable that names the data folder; `data` in the working directory without it, or where it is empty."""
LANDING_VARIABLE = "CARRYOVER_LANDING"
"""Environment variable that names the landing zone as an fsspec URL; `landing` in the data folder without it."""
DEPLOYED_VARIABLE = "CARRYOVER_DEPLOYED_LANDING"
"""Environment variable by which a deployment names its landing zone to workers; empty for the default one."""


@dataclass(frozen=True)
class Folders:
    """The folders and files of one data folder."""

    home: Path
    landing: str

    @property
    def is_shared(self) -> bool:
        """Whether the landing zone lies outside the data folder."""
        return not Path(self.landing).is_relative_to(self.home)

    @property
    def warehouse(self) -> Path:
        """The DuckDB file that the merger owns."""
        return self.home / "warehouse.duckdb"

    @property
    def models(self) -> Path:
        """Trained checkpoints and adapters, one folder per training run."""
        return self.home / "models"

    @property
    def datasets(self) -> Path:
        """Training data, one folder per dataset."""
        return self.home / "datasets"

    @property
    def documents(self) -> Path:
        """Data Docs, figures and reports."""
        return self.home / "documents"

    @property
    def logs(self) -> Path:
        """Log files of servers and trainings."""
        return self.home / "logs"

    @property
    def prefect(self) -> Path:
        """Prefect's own home when a run starts a server of its own."""
        return self.home / "prefect"


def name_folders(home: Path | None = None) -> Folders:
    """Return a data folder's paths without touching the disk.

    Raise `UserError` where a worker names another landing zone than the deployment that it runs.
    """
    folder = (home or Path(os.environ.get(HOME_VARIABLE) or "data")).absolute()
    default = str(folder / "landing")
    named_here = _named_place(LANDING_VARIABLE)
    deployed = _named_place(DEPLOYED_VARIABLE)
    if deployed is None:  # no deployment runs this process
        return Folders(home=folder, landing=named_here or default)
    landing = deployed or default
    if named_here and named_here.rstrip("/") != landing.rstrip("/"):
        raise UserError(
            f"{LANDING_VARIABLE} is {named_here} here, and {landing} for the deployment; unset it on this worker"
        )
    return Folders(home=folder, landing=named_here or landing)


def _named_place(variable: str) -> str | None:
    """Return the folder or URL in a variable, folders absolute."""
    where = os.environ.get(variable)
    if not where or "://" in where:
        return where
    return str(Path(where).absolute())


def use_home(home: Path) -> None:
    """Make a data folder that of this process and its children."""
    os.environ[HOME_VARIABLE] = str(home.absolute())


def open_folders(home: Path | None = None) -> Folders:
    """Return the folders of a data folder, made if need be.

    Raise `UserError` if it cannot be written.
    """
    folders = name_folders(home)
    folder = folders.home
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink(missing_ok=True)  # another thread may have opened the same folder
    except OSError as error:
        raise UserError(
            f"cannot write to the data folder {folder}: {error.strerror}; name another one with {HOME_VARIABLE}"
        ) from error
    return folders
