"""What a contract keeps, and which names a block binds."""

import pytest

from carryover.tasks.runtime.contract import Contract
from carryover.tasks.runtime.lifetime import Bound, Lifetime, lifetime_of, names_bound_by

BLOCK = """
import os.path, sys as system
from math import tau as circle, pi
count = 1
def count(): inner = [hidden for hidden in ()]
def total(): pass
class Kind:
    field: int = 0
async def later(): pass
for place, (left, *right) in (): pass
match count:
    case [first, *others] if (found := first): pass
    case {"a": 1, **rest} | {"b": rest}: pass
    case int() as number: pass
    case _: pass
"""


def test_every_name_a_block_may_bind_is_found():
    found = names_bound_by(BLOCK, 3)
    assigned = {
        "os", "system", "circle", "pi", "count", "inner", "hidden", "field", "place", "left", "right", "first",
        "others", "found", "rest", "number",
    }  # fmt: skip
    assert {name for name, bound in found.items() if not bound.is_definition} == assigned
    assert {name for name, bound in found.items() if bound.is_definition} == {"total", "Kind", "later"}
    assert {bound.step for bound in found.values()} == {3}


def test_a_name_first_defined_then_assigned_counts_as_assigned():
    assert names_bound_by("def f(): pass\nf = 1", 1) == {"f": Bound(1, is_definition=False)}
    assert names_bound_by("f = 1\ndef f(): pass", 1) == {"f": Bound(1, is_definition=False)}


def test_a_block_that_does_not_parse_binds_nothing():
    assert names_bound_by("x = (", 1) == {}


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        (Contract(name="c", lifetime="episode"), Lifetime("live", "all", True)),
        (Contract(name="c", lifetime="episode", keeps_files=False), Lifetime("live", "all", False)),
        (Contract(name="c", lifetime="block", scope="namespace"), Lifetime("live", "nothing", False)),
        (Contract(name="c", lifetime="block", keeps_files=True), Lifetime("fresh", "nothing", True)),
        (Contract(name="c", lifetime="block"), Lifetime("fresh", "nothing", False)),
        (Contract(name="c", lifetime="recent:3"), Lifetime("live", "some", True, 3)),
        (Contract(name="c", lifetime="functions"), Lifetime("live", "some", True, None)),
    ],
)
def test_a_contract_has_its_lifetime(contract, expected):
    assert lifetime_of(contract) == expected


def test_a_recent_binding_outlives_so_many_steps():
    recent = Lifetime("live", "some", step_count=2)
    assert [recent.survives(Bound(4, is_definition=True), step) for step in (4, 5, 6)] == [True, True, False]
    functions = Lifetime("live", "some")
    assert [functions.survives(Bound(1, is_definition=is_so), 9) for is_so in (True, False)] == [True, False]
    assert Lifetime("live", "all").survives(Bound(1, is_definition=False), 9)
    assert not Lifetime("fresh", "nothing").survives(Bound(9, is_definition=True), 9)


def test_fields_that_say_nothing_are_not_dumped():
    plain = Contract(name="c", lifetime="block")
    assert plain.model_dump() == {"name": "c", "version": 1, "lifetime": "block", "scope": "process"}
    told = {"keeps_files": False, "binds": "environment", "words": "Names vanish."}
    assert Contract(name="c", lifetime="block", **told).model_dump() == {**plain.model_dump(), **told}
