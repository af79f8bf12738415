"""Which data folder and warehouse a command reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.warehouse import Warehouse
from tasks.running.errors import UserError
from tasks.running.places import Places, name_places

HOW_TO_FILL = "`make demo` fills it (SCALE=smoke in about a minute), `carryover merge` takes in what has landed"


def find_places(home: Path | None) -> Places:
    """Return the data folder that is there; a reader never makes one.

    Raises:
        UserError: There is none.
    """
    places = name_places(home)
    if not places.home.is_dir():
        raise UserError(f"no data folder {places.home}; {HOW_TO_FILL}")
    return places


@contextmanager
def open_warehouse(home: Path | None) -> Iterator[Warehouse]:
    """Yield the data folder's warehouse for reading.

    Raises:
        UserError: It is missing or holds no run; the message says how to fill it.
    """
    places = find_places(home)
    if not places.warehouse.exists():
        raise UserError(f"no warehouse at {places.warehouse}; {HOW_TO_FILL}")
    with Warehouse.open(places.warehouse) as warehouse:
        if not warehouse.sql("select 1 from runs limit 1"):
            raise UserError(f"the warehouse {places.warehouse} is empty; {HOW_TO_FILL}")
        yield warehouse
