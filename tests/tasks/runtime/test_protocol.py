import inspect

from carryover.tasks.runtime.interpreter import EpisodeInterpreter
from carryover.tasks.runtime.protocol import Interpreter


def methods(kind: type) -> dict[str, list[tuple[str, object]]]:
    """Return each public method with its parameters and their defaults."""
    return {
        name: [(parameter.name, parameter.default) for parameter in inspect.signature(function).parameters.values()]
        for name, function in vars(kind).items()
        if inspect.isfunction(function) and not name.startswith("_")
    }


def test_protocol_has_all_that_both_backends_do():
    assert methods(Interpreter) == methods(EpisodeInterpreter)
