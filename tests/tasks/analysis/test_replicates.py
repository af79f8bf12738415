import polars as pl
import pytest

from carryover.tasks.analysis.alignment import Arms
from carryover.tasks.analysis.replicates import replicate_rows
from carryover.tasks.analysis.statistic_rows import StatisticGroup
from carryover.tasks.analysis.statistics_spec import BASE_P, METRICS, PP, SS, StatisticsSpec

GROUP = StatisticGroup("run", "plan", "a-a", "scratch", "declared", "names", "small")


def played(*tokens):
    """Return one arm's episodes: total tokens of each instance, replicate by replicate; other metrics never differ."""
    rows = []
    for replicate, counts in enumerate(tokens):
        for number, count in enumerate(counts):
            row = {**dict.fromkeys(METRICS["replicates"], 1.0), "total_tokens": count, "replicate": replicate}
            rows.append(row | {"training_seed": 1, "instance_id": f"i{number}"})
    return pl.DataFrame(rows)


def rows_of(frames):
    arms = (
        frame.with_columns(
            pl.lit(arm.train, pl.String).alias("train_contract"), pl.lit(arm.runtime).alias("runtime_contract")
        )
        for arm, frame in frames.items()
    )
    return list(replicate_rows(GROUP, Arms(pl.concat(arms)), StatisticsSpec()))


def test_the_rejection_share_counts_only_tests_that_ran():
    rows = rows_of({PP: played([110] * 8, range(100, 108))})
    tokens = next(row for row in rows if row.metric == "total_tokens")
    assert tokens.p_value == pytest.approx(2 / 2**8)  # all of eight differences have one sign
    assert [row.p_value for row in rows if row.analysis == "replicates" and row is not tokens] == [None] * 6
    share = rows[-1]
    assert (share.analysis, share.pair_count, share.nonzero_count, share.estimate) == ("replicate_rejections", 1, 1, 1)
    assert (share.low, share.high) == (pytest.approx(0.025), 1.0)  # one of one: (alpha / 2) ** (1 / 1)


def test_holm_corrects_over_all_tests_of_the_control():
    frames = {PP: played([110] * 8, range(100, 108)), SS: played([1, 2, 3, 4], [2, 1, 4, 3])}
    tested = [row for row in rows_of(frames) if row.p_value is not None]
    # 2/256 of the one arm and 1 of the other, whose differences balance; 7 metrics of 2 arms are 14 tests
    assert [(row.train_a, row.p_value, row.p_holm) for row in tested] == [
        ("persistent", pytest.approx(2 / 256), pytest.approx(28 / 256)),
        ("stateless", 1.0, 1.0),
    ]


def test_replicates_that_differ_to_both_sides_do_not_reject():
    rows = rows_of({PP: played([1, 2, 3, 4], [2, 1, 4, 3])})
    assert (rows[-1].pair_count, rows[-1].estimate, rows[-1].low) == (1, 0.0, 0.0)


def test_each_replicate_is_in_one_pair():
    high, low = [110] * 8, range(100, 108)
    rows = rows_of({PP: played(high, low, low, low, high)})
    tokens = [row for row in rows if row.metric == "total_tokens"]
    assert [(row.comparison_group, row.nonzero_count) for row in tokens] == [
        ("replicates 0 and 1", 8),
        ("replicates 2 and 3", 0),
    ]
    assert len({row.statistic_id for row in rows}) == len(rows)


def test_models_of_several_seeds_count_an_instance_once():
    # eight instances, each 10 more under one seed and 10 less under the other: no difference is left
    first = played([110] * 8, [100] * 8)
    second = played([100] * 8, [110] * 8).with_columns(pl.lit(2, pl.Int64).alias("training_seed"))
    rows = rows_of({PP: pl.concat([first, second])})
    tokens = next(row for row in rows if row.metric == "total_tokens")
    assert (tokens.pair_count, tokens.nonzero_count, tokens.p_value) == (8, 0, None)
    assert tokens.method.endswith("one value per instance: its mean over 2 training seeds")


def test_one_replicate_or_no_training_is_no_control():
    once = played([1, 2, 3], [3, 2, 1]).filter(pl.col("replicate") == 0)
    assert rows_of({PP: once, BASE_P: played([1, 2, 3], [3, 2, 1])}) == []
