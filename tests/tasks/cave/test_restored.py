"""What a model is told after a resume, note by note."""

import pytest

from carryover.tasks.cave.prompting import fill
from carryover.tasks.cave.saved import Restored
from carryover.tasks.runtime.results import Difference


def differing(*places):
    return tuple(Difference(step, field, "was", "is") for step, field in places)


@pytest.mark.parametrize(
    ("restored", "notes"),
    [
        (Restored(), [fill("restored")]),
        (Restored(seconds=3.0), [fill("restored")]),
        (
            Restored(differing((2, "output"), (1, "state_hash"), (2, "error"), (1, "output"))),
            [fill("restored"), fill("restored_otherwise", steps="1, 2 (error, output, state_hash)")],
        ),
        (Restored(lost_names=("a", "b")), [fill("restored"), fill("names_lost", names="a, b")]),
        (Restored(missing_functions=("f", "g")), [fill("restored"), fill("functions_missing", names="f, g")]),
        (Restored(reason="it died"), [fill("state_lost", reason="it died", names="(none)")]),
        (
            Restored(differing((1, "output")), ("a", "b"), ("f",), "it died"),
            [fill("state_lost", reason="it died", names="a, b"), fill("functions_missing", names="f")],
        ),
    ],
)
def test_every_difference_is_a_note(restored, notes):
    assert restored.notes() == notes
    assert restored.is_exact is (notes == [fill("restored")])
