import pytest

from carryover.tasks.plans.apply_overrides import apply_overrides
from carryover.tasks.plans.estimate import LAPTOP, PLAIN_TOKENS, arm_examples, cells, estimate_study
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.services.limits import Prices
from tests.presets import as_kept, kept_presets

PRICES = Prices(prompt=2.0, completion=10.0)


def estimate(name, concurrency=4):
    return {row.stage: row for row in estimate_study(resolve_plan(name), PRICES, concurrency)}


def test_stages_and_cells_have_rows_in_order_of_execution():
    stages = list(estimate("paper"))
    assert stages[:4] == [
        "main: teacher, persistent",
        "main: teacher, stateless",
        "main: scripted persistent -> persistent, easy",
        "main: scripted persistent -> stateless, easy",
    ]
    assert stages[10:18] == [
        "main: training, persistent",
        "main: training, stateless",
        "main: persistent -> persistent, easy",
        "main: persistent -> stateless, easy",
        "main: stateless -> persistent, easy",
        "main: stateless -> stateless, easy",
        "main: base -> persistent, easy",
        "main: base -> stateless, easy",
    ]
    assert len(stages) == 4 + 2 * (6 + 4)


@pytest.mark.parametrize(("most", "steps"), [(3, 3), (10_000, None), (None, None)])
def test_a_training_takes_no_more_steps_than_its_most(most, steps):
    plan = resolve_plan("laptop")
    (part,) = plan.parts

    def steps_of(max_steps):
        training = part.training.model_copy(update={"max_steps": max_steps})
        changed = plan.model_copy(update={"parts": (part.model_copy(update={"training": training}),)})
        return {row.steps for row in estimate_study(changed, PRICES, 4) if "training, " in row.stage}

    unlimited = steps_of(None)
    assert min(unlimited) > 3
    assert steps_of(most) == ({steps} if steps else unlimited)


def test_hours_and_tokens_of_training_count_every_seed():
    one, two = (
        {row.stage: row for row in estimate_study(resolve_plan("laptop", Overrides(training_seeds=seeds)), PRICES, 4)}
        for seeds in ((1,), (1, 2))
    )
    stage = next(name for name in one if "training, " in name)
    assert two[stage].hours == pytest.approx(2 * one[stage].hours)
    assert two[stage].training_tokens == 2 * one[stage].training_tokens
    assert two[stage].steps == one[stage].steps


def test_the_paper_s_evaluation_is_1200_episodes():
    rows = estimate("paper")
    played = {stage: row.episodes for stage, row in rows.items() if "->" in stage and "scripted" not in stage}
    assert sum(played.values()) == 1200


def test_a_teacher_costs_its_published_tokens_at_given_prices():
    row = estimate("paper")["main: teacher, persistent"]
    # Table 1: 18,337 tokens an episode; 1,900 episodes, 95 % of them prompt. Table 2: 24.8 s an episode.
    assert row.episodes == 1900
    assert row.prompt_tokens == 33_098_285
    assert row.completion_tokens == 1_742_015
    assert row.cost == pytest.approx(33.098285 * 2 + 1.742015 * 10)
    assert row.hours == pytest.approx(1900 * 24.8 / 4 / 3600)
    assert row.basis == "Table 1's tokens, Table 2's time"


def test_an_evaluation_s_row_is_its_published_tokens_and_time():
    row = estimate("paper", concurrency=8)["main: stateless -> stateless, easy"]
    # Table 2: 58,814 tokens and 145.5 s an episode, 100 episodes.
    assert (row.prompt_tokens, row.completion_tokens) == (5_587_330, 294_070)
    assert row.hours == pytest.approx(100 * 145.5 / 8 / 3600)
    assert row.cost == 0  # vLLM of the study's own


def test_a_models_endpoint_given_by_url_costs():
    plan = apply_overrides(resolve_plan("paper"), Overrides(endpoint_url="http://127.0.0.1:9/v1"))
    row = {row.stage: row for row in estimate_study(plan, PRICES, 4)}["main: stateless -> stateless, easy"]
    assert row.cost == pytest.approx(5.58733 * 2 + 0.29407 * 10)


def test_a_teacher_s_endpoint_is_asked_at_its_own_pace():
    overrides = Overrides(teacher_url="http://127.0.0.1:9/v1", teacher_model="m")
    plan = apply_overrides(resolve_plan("laptop"), overrides)
    rows = {row.stage: row for row in estimate_study(plan, PRICES, plan.serving.max_concurrent)}
    row = rows["main: teacher, persistent"]
    assert plan.serving.max_concurrent == 100
    assert row.hours == pytest.approx(1000 * 24.8 / 4 / 3600)  # four requests in flight


def test_training_is_counted_in_tokens_and_costs_no_endpoint():
    row = estimate("paper")["main: training, persistent"]
    # Table 5: 4,630.60 tokens an example, 1,000 examples kept, 50 of them held out, 3 passes
    assert row.training_tokens == 13_197_210
    # 4,399,070 tokens of a pass in steps of 16 x 16,384, 92 % full: 19 steps
    assert row.steps == 57
    # 7.57 G weights without the embedding: 2 forward, 2 backward, 2 again; attention over half of 4,630.6 positions
    operations = 6 * 7_568_405_504 + 2 * 4630.6 * 4096 * 36 * 3.5
    assert row.hours == pytest.approx(13_197_210 * operations / (0.32 * 989e12) / 3600, rel=1e-3)
    assert row.trainings == (row.hours,)
    assert (row.episodes, row.prompt_tokens, row.completion_tokens, row.cost) == (0, 0, 0, 0)


def test_a_scripted_teacher_asks_nobody():
    row = estimate("smoke")["main: teacher, stateless"]
    assert (row.episodes, row.prompt_tokens, row.completion_tokens, row.cost) == (40, 0, 0, 0)
    assert row.basis == LAPTOP


def test_more_episodes_than_cores_make_a_laptop_no_faster():
    few, many = (estimate("laptop", concurrency)["main: persistent -> stateless, small"] for concurrency in (2, 100))
    # 100 episodes of half a second of a core, on two cores
    assert few.hours == many.hours == pytest.approx(25 / 3600)


def test_arms_of_equal_training_tokens_cost_the_same():
    rows, (part,) = estimate("laptop"), resolve_plan("laptop").parts
    counts = [arm_examples("laptop", part, contract)[0] for contract in part.teacher.contracts]
    assert counts == [1000, 481]  # 1,049 and 2,181 tokens an example
    # 40 and 19 of them are held out; 1.25 passes
    assert rows["main: training, persistent"].training_tokens == pytest.approx(960 * 1_049 * 1.25, rel=1e-4)
    assert rows["main: training, stateless"].training_tokens == pytest.approx(462 * 2_181 * 1.25, rel=1e-4)


def test_arms_of_equal_training_tokens_keep_one_example_at_least():
    part = resolve_plan("paper").parts[0]
    dataset = part.dataset.model_copy(update={"matching": "tokens", "maximum_kept": 1})
    part = part.model_copy(update={"dataset": dataset})
    assert [arm_examples("paper", part, contract)[0] for contract in part.teacher.contracts] == [1, 1]


def test_what_parts_share_is_counted_once():
    plan = resolve_plan("laptop_full")
    stages = [row.stage for row in estimate_study(plan, PRICES, 4)]
    assert len(set(stages)) == len(stages)
    teachers = [stage for stage in stages if "teacher" in stage]
    assert len(teachers) == 2 * len({part.variant for part in plan.parts})
    assert "scratch-rules, main: training, persistent" not in stages  # models of the first part
    assert "scratch-rules, header-none: persistent -> persistent, small" in stages


def test_models_of_other_seeds_are_counted_apart():
    plan = resolve_plan("laptop")
    (part,) = plan.parts
    parts = [
        part.model_copy(update={"name": name, "training_seeds": seeds}) for name, seeds in (("a", (1,)), ("b", (2,)))
    ]
    rows = estimate_study(plan.model_copy(update={"parts": tuple(parts)}), PRICES, 4)
    trained = [row.stage for row in rows if "training, " in row.stage]
    assert trained == [f"{name}, main: training, {arm}" for name in "ab" for arm in ("persistent", "stateless")]


def test_episodes_without_published_ones_take_as_long_as_easy_ones():
    plan = resolve_plan("paper")
    (part,) = plan.parts
    small = [
        each.model_copy(update={"instances": each.instances.model_copy(update={"bucket": "small"})})
        for each in part.evaluations
    ]
    changed = plan.model_copy(update={"parts": (part.model_copy(update={"evaluations": tuple(small)}),)})
    hours = {row.stage: row.hours for row in estimate_study(changed, PRICES, 4)}
    published = {row.stage: row.hours for row in estimate_study(plan, PRICES, 4)}
    name = "main: stateless -> stateless"
    assert hours[f"{name}, small"] == published[f"{name}, easy"]


def test_an_own_base_has_one_row_before_its_adapters():
    rows = estimate_study(resolve_plan("laptop_full"), PRICES, 4)
    stages = [row.stage for row in rows]
    bases = [stage for stage in stages if stage.endswith(" base")]
    assert bases == [
        "common-1, main: training, common base",  # of every seed
        "both, main: training, both base",
        "both-quarter-adapter, quarter-adapter: training, both base",
        "both-sixteenth-adapter, sixteenth-adapter: training, both base",
    ]
    assert stages[stages.index(bases[0]) + 1] == "common-1, main: training, persistent"
    common, both = (rows[stages.index(stage)] for stage in bases[:2])
    # 60 of 1,500 plain examples are held out; one pass
    assert common.training_tokens == 1440 * PLAIN_TOKENS
    operations = 6 * 574_528 + 2 * PLAIN_TOKENS * 128 * 3 * 3.5
    assert 3600 * common.hours == pytest.approx(common.training_tokens * operations / 2e10, rel=1e-3)
    # 1,000 examples of 1,049 tokens and 481 of 2,181, less 59; 0.6 of a pass
    assert both.training_tokens == pytest.approx((1_049_000 + 1_049_061) / 1481 * 1422 * 0.6, rel=1e-4)
    assert (both.episodes, both.prompt_tokens, both.cost) == (0, 0, 0)


def test_the_base_alone_has_two_cells():
    (part,) = resolve_plan("laptop").parts
    trained, untrained = part.evaluations
    assert len(cells(part, trained)) == 4
    assert cells(part, untrained) == [(None, "persistent"), (None, "stateless")]


def test_a_further_level_of_a_factor_has_its_own_rows():
    plan = apply_overrides(resolve_plan("paper"), Overrides(tool_call_caps=(25, "none")))
    stages = [row.stage for row in estimate_study(plan, PRICES, 4)]
    assert "main: persistent -> stateless, hard" in stages
    assert "cap-none: persistent -> stateless, hard" in stages
    assert len(stages) == 4 + 4 * (6 + 4)


@pytest.mark.parametrize("name", ["smoke", "laptop", "laptop_full", "paper"])
def test_every_figure_of_a_plan_says_where_it_comes_from(name):
    rows = estimate_study(resolve_plan(name), Prices(), 4)
    assert rows
    assert all(row.basis for row in rows)
    assert sum(row.cost for row in rows) == 0


ESTIMATED = {
    "smoke": resolve_plan("smoke"),
    "paper": resolve_plan("paper"),
    "reinforced": resolve_plan("smoke_rl"),
    "own base": resolve_plan("laptop_full", Overrides(parts=("common-1",))),
    "injected": resolve_plan("smoke_injected"),
    "by endpoints": resolve_plan(
        "smoke", Overrides(endpoint_url="http://127.0.0.1:9/v1", teacher_url="http://127.0.0.1:9/v1", teacher_model="m")
    ),
}


def filled(row):
    """Return a row's fields without zeros."""
    return {name: value for name, value in row._asdict().items() if value}


@pytest.mark.parametrize("name", ESTIMATED)
def test_an_estimate_has_these_rows(name):
    rows = list(map(filled, estimate_study(ESTIMATED[name], PRICES, 3)))
    for row, kept in zip(rows, kept_presets(__file__, "estimates.json")[name], strict=True):
        assert row.pop("trainings", ()) == pytest.approx(tuple(kept.pop("trainings", ())))
        assert row.pop("hours") == pytest.approx(kept.pop("hours"), abs=1e-9)
        assert as_kept(row) == kept
