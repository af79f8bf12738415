"""Equal random draws under every contract: `random` and NumPy are seeded anew before every block."""

import os
import sys
from importlib.machinery import PathFinder
from typing import Any

_register, os.register_at_fork = os.register_at_fork, lambda **_hooks: None
import random  # noqa: E402 - without its hook, so that a fork goes on with the draws of its parent

os.register_at_fork = _register


class Seeder:
    """Seeds `random` and NumPy before a block, and NumPy also when a block is the first to import it."""

    def __init__(self) -> None:
        self._seed = "0"
        sys.meta_path.insert(0, self)

    def reseed(self, seed: str) -> None:
        """Seed what is imported now, and what the block will import; the seed is hexadecimal."""
        self._seed = seed
        random.seed(int(seed, 16))
        if "numpy.random.mtrand" in sys.modules:
            self._seed_numpy(sys.modules["numpy.random.mtrand"])

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find NumPy's generator with a loader that seeds it; leave the rest to the other finders."""
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
        seed = int(self._seed, 16)
        module.seed([seed >> shift & 0xFFFFFFFF for shift in range(0, 256, 32)])
