"""Equal random draws under every contract: `random` and NumPy are seeded anew before every block."""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any


class Seeder:
    """Seeds `random` and NumPy before a block, and also when the block is the first to import them.

    `random` is loaded from the start, so that a block's import costs nothing, but out of sight until it is imported:
    a block that draws no number does not pay for the seeding.
    """

    def __init__(self) -> None:
        self._seed = "0"
        register, os.register_at_fork = os.register_at_fork, lambda **_hooks: None
        try:  # a fork then neither seeds it again nor pays for that
            import random
        finally:
            os.register_at_fork = register
        self._random = sys.modules.pop(random.__name__)
        self._random_spec = self._random.__spec__
        sys.meta_path.insert(0, self)

    def reseed(self, seed: str) -> None:
        """Seed what is imported now, and what the block will import; the seed is hexadecimal."""
        self._seed = seed
        modules = sys.modules
        if "random" in modules:
            self._random.seed(int(seed, 16))
        if "numpy.random.mtrand" in modules:
            self._seed_numpy(modules["numpy.random.mtrand"])

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find `random` where it is kept, and NumPy's generator with a loader that seeds it; leave the rest."""
        if fullname == "random":
            return ModuleSpec(fullname, self)  # type: ignore[arg-type]
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

    def create_module(self, _spec: Any) -> Any:
        """Return `random` as it is kept."""
        return self._random

    def exec_module(self, module: Any) -> None:
        """Seed it."""
        module.__spec__ = self._random_spec
        module.seed(int(self._seed, 16))

    def _seed_numpy(self, module: Any) -> None:
        seed = int(self._seed, 16)
        module.seed([seed >> shift & 0xFFFFFFFF for shift in range(0, 256, 32)])
