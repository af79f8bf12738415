"""The tables of CaveAgent's suites give exactly the rows that `suite_rows` works out from its `turns.txt`."""

from pathlib import Path

import pytest

from carryover.tasks.traces.result_rows import CaveTurnRow
from carryover.tasks.traces.rows import StepRow
from tests.empty_warehouse import open_empty_memory
from tests.sql.hand_made_warehouse import HandMade
from tests.sql.written_rows import read_rows, write_row
from tests.storage.conftest import build_row

ROWS = Path(__file__).parent / "suite_rows"
EXPECTED = sorted(path.stem for path in ROWS.glob("cave_*.txt"))
EPISODE = ("plan_digest", "case_id", "suite", "instruction", "arm", "model_name", "replicate", "attempt")


def add_turns(study: HandMade) -> None:
    """Add the turns of `suite_rows/turns.txt`."""
    for told in read_rows((ROWS / "turns.txt").read_text(encoding="utf-8")):
        values = {name: None if value == "-" else value for name, value in told.items()}
        episode_id = " ".join(told[name] for name in EPISODE)
        study.add(CaveTurnRow.model_validate({"episode_id": episode_id, **values}))


CODE = {
    0: ["for light in lights:\n    light.dim()", "light = 1"],
    1: ["light = a if b else c", "light"],
    2: ["print('for each if')"],
}
"""What the episodes of persistent code ran in case c1, by replicate."""


def add_steps(study: HandMade) -> None:
    """Add the blocks of some episodes, and a loop in one of another arm."""
    for replicate, blocks in CODE.items():
        attempt = 1 if replicate == 0 else 0
        episode_id = f"plan c1 token_efficiency none persistent_code m {replicate} {attempt}"
        for step, code in enumerate(blocks, start=1):
            study.add(build_row(StepRow, episode_id=episode_id, step=step, code=code))
    looping = "plan c1 token_efficiency none json m 0 0"
    study.add(build_row(StepRow, episode_id=looping, step=1, code="if a:\n    while b:\n        pass"))


@pytest.fixture(scope="module")
def study():
    made = HandMade(open_empty_memory())
    add_turns(made)
    add_steps(made)
    return made


@pytest.mark.parametrize("name", EXPECTED)
def test_table_of_the_suites_gives_the_rows_worked_out_by_hand(study, name):
    expected = read_rows((ROWS / f"{name}.txt").read_text(encoding="utf-8"))
    assert [write_row(row) for row in study.table(name)] == expected


TURN = ("plan_digest", "suite", "case_id", "arm", "instruction", "replicate", "question")
ARM = ("plan_digest", "suite", "tier", "instruction", "arm", "played_by")


def test_counted_turns_come_in_order(study):
    rows = study.sql("from staging.counted_cave_turns")
    places = [tuple(row[name] for name in TURN) for row in rows]
    assert places == sorted(places)
    assert len(set(places)) == len(places)


def test_measured_arms_come_in_order_the_whole_suite_last(study):
    rows = study.sql("from staging.measured_cave_arms")
    places = [tuple("~" if row[name] is None else row[name] for name in ARM) for row in rows]
    assert places == sorted(places)
    assert len(set(places)) == len(places)
