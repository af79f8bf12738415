"""What the training libraries do when they are imported."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_bitsandbytes_asks_the_hub_for_nothing_where_kernels_is_installed(tmp_path):
    (tmp_path / "kernels.py").write_text("def get_kernel(*_, **__):\n    raise SystemExit('asked the hub')\n")
    imported = "from carryover.tasks.sft.load import quiet_libraries"
    code = f"{imported}; quiet_libraries(); import kernels; print(kernels.__name__)"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    ran = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "kernels\n"), ran.stderr
