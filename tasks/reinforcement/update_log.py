"""The log of a reinforcement: a JSON line per update."""

from pathlib import Path

from carryover.tasks.services.whole_files import write_whole
from carryover.tasks.traces.training_rows import PolicyUpdate

LOG_NAME = "policy_updates.jsonl"


def read_updates(path: Path) -> list[PolicyUpdate]:
    """Return the updates logged so far."""
    if not path.exists():
        return []
    return [PolicyUpdate.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]


class UpdateLog:
    """The updates' rows, in a file that is whole at every moment."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.updates = read_updates(path)

    def keep_until(self, update: int) -> None:
        """Drop the rows of updates that a resumed training makes again."""
        self.updates = [each for each in self.updates if each.policy_update <= update]
        self._write()

    def add(self, update: PolicyUpdate) -> None:
        """Append an update's row."""
        self.updates.append(update)
        self._write()

    def _write(self) -> None:
        write_whole(self._path, "".join(f"{update.model_dump_json()}\n" for update in self.updates))
