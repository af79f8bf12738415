"""Equal random draws under every contract: `random` and NumPy are seeded anew before every block."""

import os
import sys
from importlib.machinery import PathFinder
from typing import Any


def import_random_without_fork_hook() -> Any:
    """Import `random` so that a fork neither re-seeds it nor pays for that; every block seeds it anyway."""
    register, os.register_at_fork = os.register_at_fork, lambda **_hooks: None
    try:
        import random
    finally:
        os.register_at_fork = register
    return random


class Seeder:
    """Seeds `random` before a block, and NumPy too, also when the block is the first to import it."""

    def __init__(self) -> None:
        self._seed = 0
        self._seed_random = import_random_without_fork_hook().seed
        sys.meta_path.insert(0, self)

    def reseed(self, seed: int) -> None:
        """Seed what is imported now, and what the block will import."""
        self._seed = seed
        self._seed_random(seed)
        module = sys.modules.get("numpy.random.mtrand")
        if module is not None:
            self._seed_numpy(module)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find NumPy's generator with a loader that seeds it once it is there; leave the rest to others."""
        if fullname != "numpy.random.mtrand":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_seed(module: Any) -> None:
                execute(module)
                self._seed_numpy(module)

            spec.loader.exec_module = execute_and_seed
        return spec

    def _seed_numpy(self, module: Any) -> None:
        module.seed([self._seed >> shift & 0xFFFFFFFF for shift in range(0, 256, 32)])
