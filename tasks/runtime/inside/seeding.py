"""Equal random draws under every contract: seeds before every block."""

import os
import sys
from _random import Random
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any


class Seeder:
    """Seeds `random` and NumPy before a block, or at their import.

    `random` is loaded from the start, so that a block's import costs nothing, but out of sight until it is imported:
    a block that draws no number does not pay for the seeding.
    """

    def __init__(self) -> None:
        self._seed = "0"
        register = os.register_at_fork
        os.register_at_fork = lambda **_hooks: None
        try:  # a fork then neither seeds it again nor pays for that
            import random
        finally:
            os.register_at_fork = register
        self._random = sys.modules.pop(random.__name__)
        self._random_spec = self._random.__spec__
        self._generator: Any = self._random._inst
        """The one behind the module's functions; a block may rebind those."""
        self._numpy_generator: Any = None
        sys.meta_path.insert(0, self)

    def reseed(self, seed: str) -> None:
        """Seed imported modules, and those that the block will import.

        The seed is hexadecimal.
        """
        self._seed = seed
        if "random" in sys.modules:
            self._seed_random()
        if self._numpy_generator is not None:
            self._seed_numpy()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Locate the random generators to seed before each block; leave other modules."""
        if fullname == "random":
            return ModuleSpec(fullname, self)  # type: ignore[arg-type]
        if fullname != "numpy.random.mtrand":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_seed(module: Any) -> None:
                execute(module)
                self._numpy_generator = module._rand
                self._seed_numpy()

            spec.loader.exec_module = execute_and_seed
        return spec

    def create_module(self, _spec: Any) -> Any:
        """Return `random` as it is kept."""
        return self._random

    def exec_module(self, module: Any) -> None:
        """Seed it."""
        module.__spec__ = self._random_spec
        self._seed_random()

    def _seed_random(self) -> None:
        Random.seed(self._generator, int(self._seed, 16))  # what `random.seed` does, by no name that a block can bend
        self._generator.gauss_next = None

    def _seed_numpy(self) -> None:
        seed = int(self._seed, 16)
        self._numpy_generator.seed([seed >> shift & 0xFFFFFFFF for shift in range(0, 256, 32)])
