"""Jinja templates of the package, with everything escaped unless a template says otherwise."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render_template(name: str, **values: Any) -> str:
    """Return a template of `tasks/analysis/templates` with its values filled in; a missing value raises."""
    return _environment().get_template(name).render(**values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("carryover.tasks.analysis"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
