"""Trainings take places on GPUs, and wait for them."""

from contextlib import ExitStack

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.gpu_places import borrowed_gpus, visible_gpus


@pytest.mark.parametrize(
    ("visible", "gpus"), [("2,3", ["2", "3"]), (" 2, 3 ,", ["2", "3"]), ("GPU-a", ["GPU-a"]), ("", [])]
)
def test_a_training_may_take_the_gpus_that_its_starter_sees(visible, gpus):
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": visible}) == gpus


def test_trainings_take_one_gpu_each_and_the_third_waits(tmp_path, capsys):
    waited = []

    def give_up():
        waited.append(True)
        if len(waited) == 2:
            raise InterruptedError

    with borrowed_gpus(["0", "1"], 1, tmp_path, give_up) as first:
        with borrowed_gpus(["0", "1"], 1, tmp_path, give_up) as second:
            assert [first, second] == [["0"], ["1"]]
            assert not capsys.readouterr().out
            with pytest.raises(InterruptedError), borrowed_gpus(["0", "1"], 1, tmp_path, give_up):
                pass
            told = "waiting for 1 of the GPUs 0, 1: trainings of another run hold them\n"
            assert capsys.readouterr().out == told
        with borrowed_gpus(["0", "1"], 1, tmp_path, give_up) as again:
            assert again == ["1"]


def test_trainings_share_gpus_once_each_has_one(tmp_path):
    def give_up():
        raise InterruptedError

    with ExitStack() as stack:
        taken = []
        for _ in range(4):
            place = borrowed_gpus(["0", "1"], 1, tmp_path, give_up, trainings_per_gpu=2)
            taken += stack.enter_context(place)
        assert taken == ["0", "1", "0", "1"]
        with pytest.raises(InterruptedError), borrowed_gpus(["0", "1"], 1, tmp_path, give_up, trainings_per_gpu=2):
            pass


@pytest.mark.parametrize(("first", "second"), [(1, 6), (6, 1), (2, 3)])
def test_a_gpu_is_shared_only_by_trainings_that_count_on_the_same_number(tmp_path, first, second):
    def give_up():
        raise InterruptedError

    with borrowed_gpus(["0", "1"], 1, tmp_path, give_up, trainings_per_gpu=first) as taken:
        assert taken == ["0"]
        with borrowed_gpus(["0", "1"], 1, tmp_path, give_up, trainings_per_gpu=second) as other:
            assert other == ["1"]
            place = borrowed_gpus(["0", "1"], 2, tmp_path, give_up, trainings_per_gpu=second)
            with pytest.raises(InterruptedError), place:
                pass
    with borrowed_gpus(["0", "1"], 2, tmp_path, give_up, trainings_per_gpu=second) as both:
        assert both == ["0", "1"]


def test_a_training_over_two_gpus_waits_until_both_are_free(tmp_path):
    def give_up():
        raise InterruptedError

    with borrowed_gpus(["0", "1", "2"], 2, tmp_path, give_up) as both:
        assert both == ["0", "1"]
        with pytest.raises(InterruptedError), borrowed_gpus(["0", "1", "2"], 2, tmp_path, give_up):
            pass
        with borrowed_gpus(["0", "1", "2"], 1, tmp_path, give_up) as third:  # it keeps none while it waits
            assert third == ["2"]
    with (
        pytest.raises(UserError, match="--gpus-per-training is 3 and this machine has 2 GPUs"),
        borrowed_gpus(["0", "1"], 3, tmp_path, give_up),
    ):
        pass
