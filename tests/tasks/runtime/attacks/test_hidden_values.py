"""Reading what a block must not know: hidden values, the host's environment, the seed of the instance."""

import pytest

from carryover.tasks.runtime.inside.values.plain import Record
from carryover.tasks.runtime.open import open_runtime
from carryover.tasks.runtime.runtime_spec import RuntimeSpec

BACKENDS = ["fork_tree", pytest.param("jupyter", marks=pytest.mark.kernel)]


@pytest.mark.parametrize(
    "code",
    [
        "look.__closure__ and [c.cell_contents for c in look.__closure__]",
        "import gc\n[o for o in gc.get_objects() if isinstance(o, dict) and 'hidden' in o]",
        "import gc\n[repr(o)[:500] for o in gc.get_objects()]",
        "import sys\nframe = sys._getframe()\nseen = []\nwhile frame:\n"
        "    seen += [repr(value)[:300] for value in [*frame.f_locals.values(), *frame.f_globals.values()]]\n"
        "    frame = frame.f_back\nseen",
        "'{0.__globals__}'.format(look)",
        "'{0.__init__.__globals__}'.format(type(look('a')))",
        "look.__self__",
        "look.__wrapped__",
        "import sys\n[repr(vars(m))[:2000] for m in sys.modules.values()]",
        "getattr(look, '__glo' + 'bals__')",
        "import inspect\ninspect.getsource(look)",
        "import os\nopen(f'/proc/{os.getppid()}/environ').read()",
        "open('/proc/self/mem', 'rb').read(100)",
        "import carryover.tasks.knapsack.sampling",
        "import importlib\nimportlib.import_module('carryover')",
        "import builtins\nseen, kept = [], repr\nbuiltins.repr = seen.append\nlook('a')\nbuiltins.repr = kept\nseen",
        "import os\nseen = []\nfor fd in range(3, 64):\n    try:\n        os.set_blocking(fd, False)\n"
        "        seen.append(os.read(fd, 1000))\n    except OSError: pass\nseen",
    ],
)
def test_hidden_values_are_not_in_the_interpreter(secret, interpreter, code):
    result = interpreter.run_block(code)
    assert secret not in f"{result.output}{result.result}{result.error}"
    assert interpreter.run_block("look('a')").result == "'a: 1'"


@pytest.mark.parametrize("backend", BACKENDS)
def test_environment_of_the_host_does_not_enter(secret, monkeypatch, backend, contract):
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    runtime = open_runtime(RuntimeSpec(backend=backend, warm_kernel_count=1))
    interpreter = runtime.open_interpreter(contract, {}, instance_id="a")
    found = interpreter.run_block("import os; sorted(os.environ.items())").result
    interpreter.close()
    runtime.close()
    assert found is not None
    assert "LANG" in found
    assert "OPENAI" not in found
    assert secret not in found


def test_generator_state_shows_neither_instance_nor_salt(open_one, contract):
    instance = "instance-4711-secret"
    interpreter = open_one(contract, instance_id=instance, salt="salt-of-the-run")
    result = interpreter.run_block(
        "import gc, random\nrepr(random.getstate()) + ' '.join(repr(o)[:99] for o in gc.get_objects())"
    )
    assert instance not in result.result
    assert "salt-of-the-run" not in result.result


def test_pickled_payload_is_data_in_retrieval(open_one, capfd):
    interpreter = open_one("persistent")
    interpreter.run_block(
        "import pickle\nclass Evil:\n    def __reduce__(self): return (print, ('owned',))\n"
        "payload = pickle.dumps([1])\nevil = [Evil()]"
    )
    assert isinstance(interpreter.retrieve("payload"), bytes)
    assert interpreter.retrieve("evil") == [Record("Evil", {})]
    assert "owned" not in capfd.readouterr().out
