from carryover.tasks.services.progress import StageProgress
from carryover.tasks.stages.progress import shown_progress


def test_an_artifact_tells_rate_and_time_left():
    progress = StageProgress("main, base on persistent", 40, "episodes")
    assert progress.describe(0.0) == (0.0, "main, base on persistent: 0 of 40 episodes in 0 s")
    progress.add(10, "")
    assert progress.describe(5.0) == (25.0, "main, base on persistent: 10 of 40 episodes in 5 s, 2.0/s, 15 s left")
    progress.add(30, "loss 4.6")
    assert progress.describe(20.0)[1].endswith("40 of 40 episodes in 20 s, 2.0/s, loss 4.6")


def test_outside_a_task_there_is_a_bar_alone(capsys):
    with shown_progress("merge", 2, "rows") as advance:
        advance(2)
    assert "merge: 2 of 2 rows" in capsys.readouterr().err
