"""What a flow says to the person in front of it."""

import sys
from collections.abc import Sequence

from rich.console import Console

from carryover.tasks.collect import Collected
from carryover.tasks.running.errors import UserError

console = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """Say one line on standard error, where progress goes too."""
    console.print(text, markup=False)
    sys.stderr.flush()


def say_errors(collected: Sequence[Collected]) -> None:
    """Say how many episodes ended with an error, and what becomes of them."""
    count = sum(one.error_count for one in collected)
    if count:
        first = next(one.first_error for one in collected if one.first_error is not None)
        given_up = sum(one.given_up_count for one in collected)
        becomes = f"{count - given_up} run again on the next start"
        if given_up:
            becomes += f", {given_up} had their last attempt and are given up"
        say(
            f"{count} episodes ended with an error ({first}); they are kept as attempts and left out of the tables; "
            f"{becomes}"
        )


def refuse_failure(collected: Sequence[Collected]) -> None:
    """Return unless every episode that the plan asks for was played now and ended with an error.

    Raises:
        UserError: None ended otherwise, so that nothing came of the stage.
    """
    count = sum(one.error_count for one in collected)
    if 0 < count == sum(one.planned_count for one in collected):
        raise UserError(f"every episode, {count} in all, ended with an error; mend it and start again to play them")
