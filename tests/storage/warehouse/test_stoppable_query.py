import signal
import subprocess
import sys
import threading

import pytest

from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.stoppable_query import stoppable

INTERRUPTED = """
import signal
import polars  # whose handler of the signal restarts what waits
from carryover.storage.warehouse.connection import open_memory
from carryover.storage.warehouse.stoppable_query import stoppable

signal.signal(signal.SIGINT, signal.default_int_handler)
connection = open_memory()

query = "select sum(sqrt(a.range * b.range)) from range(1000000) as a, range(1000000) as b"

def ask():
    print("begun", flush=True)
    return connection.sql(query).to_arrow_table()

try:
    stoppable(connection, ask)
except KeyboardInterrupt:
    print("stopped", connection.sql("select 1").fetchall())
"""


def test_interrupt_stops_a_long_query_and_keeps_the_connection():
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "stopped [(1,)]\n"


def test_answers_and_errors_come_through_from_whichever_thread_asks():
    connection = open_memory()
    answers = []
    asker = threading.Thread(target=lambda: answers.append(stoppable(connection, lambda: 7)))
    asker.start()
    asker.join()
    assert answers == [7]
    with pytest.raises(ZeroDivisionError):
        stoppable(connection, lambda: 1 / 0)


def test_a_query_that_cannot_be_stopped_holds_no_process_back():
    assert stoppable(open_memory(), lambda: threading.current_thread().daemon)
