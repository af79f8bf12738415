import os

import pytest


def test_work_fills_the_places_as_they_come_free(measuring):
    # Two places: 4 and 1 begin, 2 follows the 1 at 1, 3 follows the 2 at 3 and ends at 6.
    assert measuring.makespan([4.0, 1.0, 2.0, 3.0], places=2) == 6.0


def test_what_the_harness_adds_is_not_dilated(measuring):
    # The model needs 100 s and was played in 10; 12 s passed, so that 2 s are the harness's in either case.
    assert measuring.share_of_harness(wall=12.0, model_alone=100.0, dilation=10.0) == pytest.approx(2.0 / 102.0)


def test_memory_of_processes_that_have_ended_is_none(measuring):
    assert measuring.proportional_bytes([2**30]) == 0
    assert 0 < measuring.proportional_bytes([os.getpid()]) < 2 * measuring.peak_resident_bytes()


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("/here/tasks/agent/recorder.py", "recording"),
        ("/here/tasks/agent/machine.py", "loop, prompts, observations"),
        ("/here/tasks/services/progress.py", "event loop"),
        ("/here/storage/landing.py", "landing"),
        ("/here/lib/site-packages/celery/tasks/loop.py", None),
        ("/usr/lib/python3.11/json/encoder.py", None),
    ],
)
def test_a_file_belongs_to_a_part_by_its_package(measuring, file, part):
    assert measuring.part_of(file) == part


def test_a_library_counts_for_those_who_called_it(measuring):
    encoder, landing, loop = ("/lib/json.py", 1, "dumps"), ("/here/storage/landing.py", 1, "write"), ("~", 0, "run")
    stats = {
        loop: (1, 1, 1.0, 9.0, {}),
        landing: (1, 1, 2.0, 6.0, {loop: (1, 1, 2.0, 6.0)}),
        encoder: (1, 1, 6.0, 6.0, {landing: (1, 1, 4.0, 4.0), loop: (1, 1, 2.0, 2.0)}),
    }
    # Of the encoder's 6 s, two thirds are the landing's.
    assert measuring.seconds_by_part(stats) == pytest.approx({"landing": 2.0 + 4.0, "event loop": 1.0 + 2.0})
