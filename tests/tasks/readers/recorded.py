"""A recording as tests read it."""

from carryover.tasks.readers.reading import read_traces
from carryover.tasks.readers.tally import Tally


def read(folder, content):
    """Read a file without a telling name."""
    path = folder / "recording"
    path.write_bytes(content)
    tally = Tally()
    return list(read_traces(path, tally)), tally
