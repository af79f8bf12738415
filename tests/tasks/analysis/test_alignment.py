import numpy as np
import polars as pl
import pytest

from carryover.tasks.analysis.alignment import align, arm_table, average_replicates


def arm(*rows):
    """Rows of (training seed, replicate, instance, score)."""
    columns = ["training_seed", "replicate", "instance_id", "score"]
    return arm_table(pl.DataFrame(list(rows), schema=columns, orient="row"), "score")


def test_arms_keep_the_instances_that_all_have():
    a = arm((0, 0, "i1", 0.1), (0, 0, "i2", 0.2), (0, 0, "i3", 0.3))
    b = arm((0, 0, "i3", 0.9), (0, 0, "i2", 0.8))
    aligned = align([a, b])
    assert aligned.instance_count == 2
    assert [values.tolist() for values in aligned.arms] == [[[0.2, 0.3]], [[0.8, 0.9]]]


def test_the_base_model_stands_beside_every_training_seed():
    trained = arm((0, 0, "i1", 0.1), (1, 0, "i1", 0.3))
    base = arm((None, 0, "i1", 0.7))
    aligned = align([trained, base])
    assert aligned.training_seeds == (0, 1)
    assert [values.tolist() for values in aligned.arms] == [[[0.1], [0.3]], [[0.7], [0.7]]]


def test_the_base_model_pairs_replicate_by_replicate():
    trained = arm((0, 0, "i1", 0.1), (0, 1, "i1", 0.2))
    base = arm((None, 0, "i1", 0.7), (None, 1, "i1", 0.9))
    aligned = align([trained, base])
    assert [values.tolist() for values in aligned.arms] == [[[0.1], [0.2]], [[0.7], [0.9]]]


def test_seeds_and_replicates_that_one_arm_lacks_are_left_out():
    a = arm((0, 0, "i1", 0.1), (0, 1, "i1", 0.2), (1, 0, "i1", 0.3))
    b = arm((0, 0, "i1", 0.5), (2, 0, "i1", 0.6))
    aligned = align([a, b])
    assert aligned.training_seeds == (0,)
    assert [values.tolist() for values in aligned.arms] == [[[0.1]], [[0.5]]]


def test_a_value_missing_in_one_arm_is_missing_in_all():
    aligned = align([arm((0, 0, "i1", None), (0, 0, "i2", 0.2)), arm((0, 0, "i1", 0.5), (0, 0, "i2", 0.6))])
    assert aligned.instance_count == 1
    assert [values.tolist() for values in aligned.per_instance()] == [[0.2], [0.6]]


def test_instances_average_over_seeds_and_seeds_over_replicates():
    aligned = align([arm((0, 0, "i1", 0.0), (0, 1, "i1", 1.0), (1, 0, "i1", 0.4), (1, 1, "i1", 0.4))])
    assert aligned.per_instance()[0].tolist() == [pytest.approx(0.45)]
    assert aligned.per_seed()[0].tolist() == [[0.5], [0.4]]


def test_arms_without_common_seeds_have_no_pairs():
    aligned = align([arm((0, 0, "i1", 0.1)), arm((1, 0, "i1", 0.2))])
    assert aligned.instance_count == 0
    assert all(np.array_equal(values, []) for values in aligned.per_instance())


def test_two_episodes_of_one_draw_are_refused():
    with pytest.raises(ValueError, match=r"\(0, 0, 'i1'\)"):
        arm((0, 0, "i1", 0.1), (0, 0, "i1", 0.2))


def test_replicates_are_averaged_by_seed_in_the_order_of_seeds():
    values = np.array([[0.4], [0.1], [0.3], [0.7]])
    assert average_replicates(values, [1, None, None, 0]).tolist() == [[0.2], [0.7], [0.4]]
    assert average_replicates(np.empty((0, 3)), []).shape == (0, 3)
