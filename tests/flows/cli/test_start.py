import signal
import subprocess
import sys

import pytest

from carryover.flows.cli.start import run


def test_an_interrupt_is_one_line_and_its_code(monkeypatch, capsys):
    called = []

    def app(*, prog_name):
        called.append(prog_name)
        raise KeyboardInterrupt

    monkeypatch.setattr("carryover.flows.cli.main.app", app)
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 130
    assert called == ["carryover"]
    assert capsys.readouterr() == ("", "carryover: stopped\n")


STOPPING_AT = """
import signal
import sys
import time

moment = sys.argv[1]

def stop_there(event, arguments):
    if event == "import" and arguments[0] == moment:
        print("there", flush=True)
        while True:
            time.sleep(0.01)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(stop_there)
from carryover.flows.cli.start import run
sys.argv = ["carryover", "doctor"]
run()
"""


@pytest.mark.parametrize("moment", ["carryover.flows.cli.main", "carryover.flows.cli.machine.doctor"])
def test_an_interrupt_while_loading_or_at_work_is_one_line(moment):
    with subprocess.Popen(
        [sys.executable, "-c", STOPPING_AT, moment],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "there\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "carryover: stopped\n"
        assert process.wait() == 130
