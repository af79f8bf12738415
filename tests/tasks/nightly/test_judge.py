"""A night's verdicts, on hand-made episodes."""

import json
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import polars as pl
import pytest

from carryover.tasks.analysis.statistics_spec import StatisticsSpec
from carryover.tasks.nightly.judge import Night, RunFacts, judge_night, summarize
from carryover.tasks.nightly.night_spec import Thresholds
from tests.flattening import flat
from tests.presets import as_kept, kept_presets

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
HOURS = {"study": 0, "night-1": 24, "night-2": 48}
DECLARED = {"code_digest": "code", "prompt_digest": "prompt", "sandbox_level": "seccomp"}
SERVER = {"engine": "cpu", "version": "1", "command": ["/usr/bin/python", "--model", "/data/base", "--threads", "1"]}
ENVIRONMENT = {"python": "3.11", "packages": {"torch": "2.13"}, "command_line": "carryover run"}
FACTS = RunFacts(ENVIRONMENT, (SERVER,))
SCHEMA = {"train_contract": pl.String, "training_seed": pl.Int64, "model_digest": pl.String}


def episode(run_id, number, *, score=0.5, tokens=1000, said="reply", variant=None, **changes):
    return {
        "episode_id": f"{run_id}-{number}",
        "run_id": run_id,
        "started_at": BEGIN + timedelta(hours=HOURS[run_id]),
        "variant": variant or ("main" if run_id == "study" else "reevaluation"),
        "base": "scratch",
        "model_name": "persistent-0",
        "model_digest": "weights",
        "train_contract": "persistent",
        "training_seed": 0,
        "runtime_contract": "persistent",
        "visibility": "declared",
        "header": "names",
        "bucket": "small",
        "instance_id": f"i{number:02}",
        "replicate": 0,
        "attempt": 0,
        "finish_reason": "finish_tool",
        "score": score,
        "total_tokens": tokens,
        "contract_json": json.dumps(DECLARED),
        "transcript_digest": said,
        "turn_digests": ["opening", said, "end"],
        "is_of_finished_run": True,
    } | changes


def play(run_id, *, count=12, **changes):
    """One cell, each instance a little different from the others."""
    return [
        episode(run_id, number, score=0.5 + number / 100, tokens=1000 + number, **changes) for number in range(count)
    ]


def judge(*episodes, run_id="night-1", facts=None, study_variant="main", **thresholds) -> list[Any]:
    night = Night(
        run_id=run_id,
        plan_digest="plan",
        study_variant=study_variant,
        series="reevaluation",
        judged_at=BEGIN,
        thresholds=Thresholds(**thresholds),
        statistics=StatisticsSpec(resample_count=200),
        facts=dict.fromkeys(HOURS, FACTS) | (facts or {}),
    )
    return judge_night(pl.DataFrame(flat(episodes), schema_overrides=SCHEMA), night)


def test_a_night_that_says_the_same_is_identical():
    (row,) = judge(play("study"), play("night-1"))
    assert (row.verdict, row.differing, row.baseline_run_id) == ("identical", (), "study")
    assert (row.pair_count, row.identical_count, row.unpaired_count) == (12, 12, 0)
    assert (row.token_ratio, row.score_p_value) == (1.0, None)
    assert summarize([row]) == "1 cell, each equal to its baseline to the token"


def test_a_verdict_names_every_part_of_its_cell():
    parts = {
        "base": "common",
        "model_name": "stateless-3",
        "train_contract": "stateless",
        "training_seed": 3,
        "runtime_contract": "stateless",
        "visibility": "as_trained",
        "header": "none",
        "bucket": "easy",
    }
    row, other = judge(play("study"), play("night-1"), play("study", **parts), play("night-1", **parts))
    told = [{name: getattr(each, name) for name in parts} for each in (row, other)]
    assert parts in told
    assert [each.verdict for each in (row, other)] == ["identical"] * 2
    for name, value in parts.items():  # whichever part differs, it is another cell without a baseline
        (row,) = judge(play("study"), play("night-1", **{name: value}))
        assert row.verdict == "first"


def test_base_that_no_contract_trained_has_a_baseline():
    untrained: dict[str, Any] = {"train_contract": None, "training_seed": None}
    (row,) = judge(play("study", **untrained), play("night-1", **untrained))
    assert (row.verdict, row.pair_count, row.unpaired_count) == ("identical", 12, 0)


def say_otherwise(episodes, count, turn=1):
    """Return episodes of which the first ones differ from a turn on."""
    turns = ["opening", "reply", "end"]
    other = {"transcript_digest": "other", "turn_digests": [*turns[:turn], "other", *turns[turn + 1 :]]}
    return [one | other for one in episodes[:count]] + episodes[count:]


def test_one_other_reply_is_identical_within_the_numerics():
    (row,) = judge(play("study"), say_otherwise(play("night-1"), 1, turn=2))
    assert (row.verdict, row.identical_count) == ("identical within the numerics", 11)
    assert row.note == "episode night-1-0 differs from study-0 from turn 2 on"


@pytest.mark.parametrize(
    "episodes",
    [
        say_otherwise(play("night-1"), 2),
        say_otherwise(play("night-1", model_digest="new"), 1),
        say_otherwise(play("night-1", count=11), 1),
    ],
    ids=["two of twelve", "other weights", "one is missing"],
)
def test_more_than_rounding_is_not_called_numerics(episodes):
    (row,) = judge(play("study"), episodes)
    assert row.verdict == "unchanged"


def test_unknown_weights_are_not_called_numerics():
    (row,) = judge(play("study", model_digest=None), say_otherwise(play("night-1", model_digest=None), 1))
    assert row.verdict == "unchanged"


def test_a_note_names_some_episodes_and_counts_the_others():
    cut = {"turn_digests": ["opening", "reply"], "transcript_digest": "cut"}
    other = [{"finish_reason": "max_turns"}, cut, {"turn_digests": None, "transcript_digest": None}, {"score": 0.0}]
    night = play("night-1")
    changed = [one | change for one, change in zip(night, other, strict=False)] + night[4:]
    (row,) = judge(play("study"), changed)
    assert row.note == (
        "episode night-1-0 differs from study-0 in its end; episode night-1-1 differs from study-1 from turn 2 on; "
        "episode night-1-2 differs from study-2 from turn 0 on; 1 more episodes differ"
    )


@pytest.mark.parametrize(
    ("change", "verdict"), [({"score": 0.0}, "regression"), ({"finish_reason": "max_turns"}, "unchanged")]
)
def test_equal_replies_of_another_outcome_are_not_identical(change, verdict):
    (row,) = judge(play("study"), [one | change for one in play("night-1")])
    assert (row.verdict, row.identical_count) == (verdict, 0)


def test_a_summary_names_what_differs_or_says_that_nothing_does():
    (row,) = judge(play("study"), play("night-1", model_digest="new"))
    assert summarize([row]).endswith("to the token; differs from the baseline in: weights")
    (row,) = judge(play("study"), play("night-1", said="other"))
    assert summarize([row]).startswith("unchanged in 1 cell, and nothing else differs: code, prompt, ")
    assert summarize([row]).endswith(", server, weights are the baseline's")


@pytest.mark.parametrize("digests", [(None, None), (None, "weights"), ("weights", None)])
def test_unknown_weights_are_not_compared(digests):
    study, night = (
        play(run_id, model_digest=digest) for run_id, digest in zip(("study", "night-1"), digests, strict=True)
    )
    (row,) = judge(study, [one | {"transcript_digest": "other"} for one in night])
    assert (row.verdict, row.differing) == ("unchanged", ())
    if digests[1] is None:
        assert json.loads(row.identity_json)["weights"] is None
        assert summarize([row]).endswith(", server are the baseline's; not compared where unknown: weights")


@pytest.mark.parametrize(
    ("factor", "verdict"), [(0.5, "improvement"), (0.95, "unchanged"), (1.05, "unchanged"), (1.5, "regression")]
)
def test_tokens_count_from_the_threshold_on(factor, verdict):
    changed = [one | {"total_tokens": factor * one["total_tokens"]} for one in play("night-1", said="other")]
    (row,) = judge(play("study"), changed)
    assert row.token_p_holm < 0.05
    assert row.verdict == verdict


def test_a_cell_that_costs_more_is_a_regression():
    dearer = [one | {"total_tokens": 2 * one["total_tokens"], "transcript_digest": "longer"} for one in play("night-1")]
    (row,) = judge(play("study"), dearer)
    assert row.verdict == "regression"
    assert row.token_ratio == row.low == row.high == 2.0
    assert row.token_p_value == 2 / 2**12  # all twelve signs agree
    assert row.token_p_holm == 2 * row.token_p_value  # two tests of one cell


@pytest.mark.parametrize(("change", "verdict"), [(-0.2, "regression"), (0.2, "improvement"), (-0.02, "unchanged")])
def test_scores_count_from_the_threshold_on(change, verdict):
    other = [
        one | {"score": one["score"] + change, "transcript_digest": "other"} for one in play("night-1")
    ]  # fmt: skip
    (row,) = judge(play("study"), other)
    assert row.verdict == verdict
    assert row.score_p_holm < 0.05


def test_a_large_difference_of_few_instances_is_no_regression():
    worse = [one | {"score": 0.0, "transcript_digest": "other"} for one in play("night-1", count=4)]
    (row,) = judge(play("study", count=4), worse)
    assert (row.verdict, row.score_p_value) == ("unchanged", 2 / 2**4)


def test_correction_is_over_every_cell_of_the_night():
    cells = [{"runtime_contract": name} for name in ("persistent", "stateless")]
    study = [one | cell for cell, one in product(cells, play("study"))]
    night = [one | cells[0] | {"total_tokens": 9000, "transcript_digest": "x"} for one in play("night-1")]
    first, second = judge(study, night, [one | cells[1] for one in play("night-1")])
    assert (first.verdict, second.verdict) == ("regression", "identical")
    assert first.token_p_holm == 4 * first.token_p_value


def test_the_first_night_of_other_seeds_is_their_baseline():
    (first,) = judge(play("study"), play("night-1", replicate=1))
    assert (first.verdict, first.baseline_run_id, first.pair_count) == ("first", None, 0)
    assert summarize([first]) == "first in 1 cell: the baseline of this series"
    (second,) = judge(
        play("study"), play("night-1", replicate=1), play("night-2", replicate=1, attempt=1), run_id="night-2"
    )
    assert (second.verdict, second.baseline_run_id) == ("identical", "night-1")


def test_episodes_that_the_night_did_not_play_are_unpaired():
    (row,) = judge(play("study"), play("night-1", count=6))
    assert (row.verdict, row.pair_count, row.unpaired_count) == ("incomplete", 6, 6)


def test_the_last_attempt_at_an_episode_counts():
    (row,) = judge(play("study"), play("night-1", attempt=1), play("night-1", said="other"))
    assert (row.verdict, row.pair_count, row.identical_count) == ("identical", 12, 12)


def test_a_night_that_did_not_finish_is_no_baseline():
    killed = play("night-1", replicate=1, is_of_finished_run=False)
    (row,) = judge(killed, play("night-2", replicate=1, attempt=1), run_id="night-2")
    assert (row.verdict, row.baseline_run_id) == ("first", None)


def test_a_first_night_of_failed_episodes_is_incomplete():
    failed = [one | {"finish_reason": "error", "score": None} for one in play("night-1", replicate=1)[:2]]
    (row,) = judge(failed, play("night-1", replicate=1)[2:])
    assert (row.verdict, row.baseline_run_id) == ("incomplete", None)


def test_a_study_of_another_variant_is_a_baseline_too():
    (row,) = judge(play("study", variant="four-contracts"), play("night-1"), study_variant="four-contracts")
    assert (row.verdict, row.baseline_run_id) == ("identical", "study")


def test_later_nights_are_compared_with_the_study_too():
    (row,) = judge(play("study"), play("night-1", said="other"), play("night-2", attempt=1), run_id="night-2")
    assert (row.verdict, row.baseline_run_id) == ("identical", "study")


def test_the_hashes_that_differ_are_named():
    changed = json.dumps(DECLARED | {"prompt_digest": "other", "sandbox_level": "none"})
    facts = {
        "night-1": RunFacts(
            ENVIRONMENT | {"packages": {"torch": "2.14"}}, (SERVER | {"version": "2"},)
        )
    }  # fmt: skip
    (row,) = judge(play("study"), play("night-1", contract_json=changed, model_digest="new"), facts=facts)
    assert row.verdict == "identical"
    assert set(row.differing) == {"prompt", "contract", "environment", "server", "weights"}
    assert "environment.packages.torch: '2.13' in the baseline, '2.14' in the night" in row.note
    other = row.model_copy(update={"verdict": "unchanged"})
    assert summarize([other]) == (
        "unchanged in 1 cell; differs from the baseline in: contract, environment, prompt, server, weights"
    )


def test_folders_and_command_lines_do_not_change_server_or_environment():
    elsewhere = SERVER | {"command": ["/opt/python", "--model", "/elsewhere/base", "--threads", "1"]}
    facts = {"night-1": RunFacts(ENVIRONMENT | {"command_line": "prefect worker"}, (elsewhere,))}
    (row,) = judge(play("study"), play("night-1"), facts=facts)
    assert row.differing == ()


def test_episodes_that_failed_leave_a_cell_incomplete():
    failed = [one | {"finish_reason": "error", "score": None} for one in play("night-1")[:2]]
    (row,) = judge(play("study"), failed, play("night-1")[2:])
    assert (row.verdict, row.pair_count, row.unpaired_count) == ("incomplete", 10, 2)
    (row,) = judge(play("study"), [one | {"finish_reason": "error", "score": None} for one in play("night-1")])
    assert (row.verdict, row.pair_count, row.mean_score) == ("incomplete", 0, None)


@pytest.mark.parametrize(
    ("count", "ending"), [(5, "package_4: '1' in the baseline, '2' in the night"), (6, "; 1 more"), (7, "; 2 more")]
)
def test_a_note_lists_five_differences_and_counts_the_others(count, ending):
    def ran_on(version):
        packages = {f"package_{number}": version for number in range(count)}
        return FACTS._replace(environment=ENVIRONMENT | {"packages": packages})

    (row,) = judge(play("study"), play("night-1"), facts={"study": ran_on("1"), "night-1": ran_on("2")})
    assert row.note.count("package_") == 5
    assert row.note.endswith(ending)


NIGHTS: dict[str, list[list[dict[str, Any]]]] = {
    "identical": [play("study"), play("night-1")],
    "dearer": [
        play("study"),
        [one | {"total_tokens": 1300 + 5 * n} for n, one in enumerate(play("night-1", said="longer"))],
    ],
    "worse": [play("study"), [one | {"score": one["score"] - n / 30} for n, one in enumerate(play("night-1"))]],
    "of one instance": [play("study", count=1), play("night-1", count=1, said="other")],
    "without pairs": [play("study"), [one | {"finish_reason": "error", "score": None} for one in play("night-1")]],
    "without a baseline": [play("night-1")],
}
"""Episodes of the study and of a night."""


@pytest.mark.parametrize("name", NIGHTS)
def test_a_row_of_a_night_is_the_kept_one(name):
    (row,) = judge(*NIGHTS[name])
    assert as_kept({"row": row.model_dump(mode="json")})["row"] == kept_presets(__file__, "nights.json")[name]
