"""Equal random draws under every contract: seeds before every block."""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from typing import Any


class Seeder:
    """Seeds `random` and NumPy before a block, or at their import.

    They are loaded when a block imports them: each library that a process maps makes all its forks slower.
    """

    def __init__(self) -> None:
        self._seed = "0"
        self._random_spec = PathFinder.find_spec("random")
        self._random: Any = None
        self._generator: Any = None
        """The one behind the module's functions; a block may rebind those."""
        self._set_seed: Any = None
        """What `random.seed` does, by no name that a block can bend."""
        self._numpy_generator: Any = None
        sys.meta_path.insert(0, self)

    def reseed(self, seed: str) -> None:
        """Seed imported modules, and those that the block will import.

        The seed is hexadecimal.
        """
        self._seed = seed
        if self._random is not None:
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
        """Return `random`, the same one at each import."""
        if self._random is None:
            self._random = _loaded(self._random_spec)
            self._generator = self._random._inst
            self._set_seed = sys.modules["_random"].Random.seed
        return self._random

    def exec_module(self, module: Any) -> None:
        """Seed it."""
        module.__spec__ = self._random_spec
        self._seed_random()

    def _seed_random(self) -> None:
        self._set_seed(self._generator, int(self._seed, 16))
        self._generator.gauss_next = None

    def _seed_numpy(self) -> None:
        seed = int(self._seed, 16)
        self._numpy_generator.seed([seed >> shift & 0xFFFFFFFF for shift in range(0, 256, 32)])


def _loaded(spec: Any) -> Any:
    """Return the module without a hook that seeds it anew in each fork."""
    module = module_from_spec(spec)
    register = os.register_at_fork
    os.register_at_fork = lambda **_hooks: None
    try:
        spec.loader.exec_module(module)
    finally:
        os.register_at_fork = register
    return module
