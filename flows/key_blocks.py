"""Endpoint keys from Prefect's Secret blocks, named `secret/NAME` in a plan."""

import re
from itertools import chain

from prefect.blocks.system import Secret
from pydantic import BaseModel

from carryover.flows.cli.machine.prefect_server import unavailable_server
from carryover.tasks.agent.credentials import BLOCK_PREFIX, hold_key
from carryover.tasks.services.errors import UserError

_NAMED_BLOCK = re.compile(rf'key_variable":"({BLOCK_PREFIX}[^"]+)"')


def load_keys(*specs: object) -> None:
    """Hold the current key of every Secret block that specs name.

    Raise `UserError` without server or block.
    """
    dumps = [spec.model_dump_json() for spec in specs if isinstance(spec, BaseModel)]
    named = chain.from_iterable(map(_NAMED_BLOCK.findall, dumps))
    for name in sorted(set(named)):
        if lack := unavailable_server():
            raise UserError(f"the endpoint requires the Secret block {name}; {lack}")
        try:
            block = Secret.load(name.removeprefix(BLOCK_PREFIX), _sync=True)
        except ValueError as error:
            raise UserError(f"unknown Secret block {name}; create it in Prefect's UI (Blocks)") from error
        hold_key(name, str(block.get()))
