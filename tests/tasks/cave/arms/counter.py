"""A case of three questions about two variables."""

from carryover.tasks.cave.suites.case import Case, Turn, World

COUNTER = Case(
    "made",
    "counter",
    0,
    World(variables={"total": 1, "log": []}),
    (
        Turn("Add 2 to `total`.", "total += 2"),
        Turn("Append `total` to `log`.", "log.append(total)"),
        Turn("Double `total`.", "total *= 2"),
    ),
)
