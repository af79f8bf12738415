import pytest

from flows.cli.answers import print_estimate, print_study
from flows.cli.trainings import UNKNOWN_SHAPE, plan_trainings
from storage.landing import LandingZone
from storage.merger import merge
from tasks.plans.estimate import estimate_study
from tasks.plans.overrides import Overrides
from tasks.plans.presets import resolve_plan
from tasks.plans.run import Limits
from tasks.prepare import TrainingData
from tasks.running.errors import UserError
from tasks.running.limits import Prices
from tasks.sft.conversations import Conversation, TrainingMessage, digest_of_file, write_conversations
from tasks.sft.spec import TokenizerSpec
from tasks.sft.tokenizer import build_tokenizer
from tasks.traces.study_rows import RunRow
from tests.storage.conftest import build_episode, build_row


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path))
    return tmp_path


def with_batch(plan, **changes):
    (part,) = plan.parts
    training = part.training.model_copy(update={"batch": part.training.batch.model_copy(update=changes)})
    return plan.model_copy(update={"parts": (part.model_copy(update={"training": training}),)})


def test_a_dry_run_plans_the_paper_s_training_of_both_contracts_and_writes_nothing(home, capsys):
    print_estimate(resolve_plan("paper"), Limits())
    printed = capsys.readouterr().out
    for line in (
        "training paper, persistent: its data are not prepared yet",
        "training paper, stateless: its data are not prepared yet",
        "tokens per pass: about 4,388,354 (estimated from Table 5's range and mean)",
        # filled to the brim they would be 268 and 624 sequences, 51 and 117 steps
        "sequences per pass: about 280, 96% full",
        "optimizer steps: about 54",
        "sequences per pass: about 697, 89% full",
        "optimizer steps: about 132",
        "effective batch: 1 sequence x 16 accumulated x 16,384 tokens = 262,144 tokens per step",
        "memory (estimate):",
        "hours on one H100 (estimate):",
    ):
        assert line in printed
    assert list(home.iterdir()) == []


def test_a_dry_run_plans_small_models_with_the_lengths_of_an_earlier_run(capsys):
    print_estimate(resolve_plan("smoke"), Limits())
    printed = capsys.readouterr().out
    assert "training smoke, stateless: its data are not prepared yet" in printed
    assert "examples: 19 to train, 0 to validate" in printed  # as many tokens as 40 examples of 1,049
    # 19 examples of 2,181, but for rounding
    assert "tokens per pass: about 41,440 (estimated from the range and mean of an earlier laptop run)" in printed


def test_a_dry_run_sums_endpoint_tokens_apart_from_training_tokens_and_names_no_cost_without_prices(capsys):
    print_estimate(resolve_plan("smoke"), Limits())
    printed = capsys.readouterr().out
    (row,) = (line for line in printed.splitlines() if line.startswith("│ all "))
    _, _, episodes, prompt, completion, training, _, cost, *_ = map(str.strip, row.split("│"))
    # 40 episodes per contract and 6 in each of 8 cells; 6 x (3,840 + 10,500 + 2 x 8,500 + 2 x 1,700) prompt tokens
    assert (episodes, prompt, cost) == ("128", "208,440", "-")
    assert completion == "29,760"  # 6 x (410 + 1,250 + 2 x 1,050 + 2 x 600)
    assert training == "83,399"  # one pass over 40 examples of 1,049 and 19 of 2,181, but for rounding
    assert "about 238,200 tokens, which is what --max-tokens-total counts" in printed
    assert "give --prices" in printed


def test_a_dry_run_s_sum_holds_the_base_that_adapters_sit_on(capsys):
    plan = resolve_plan("laptop_full", Overrides(parts=("both",)))
    print_estimate(plan, Limits())
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line.split("│")[1:]] for line in lines]
    tokens = {row[0]: int(row[4].replace(",", "")) for row in cells if row[4] not in ("", "-")}
    assert len(tokens) == 4
    assert tokens.pop("all") == sum(tokens.values())
    assert "main: training, both base" in tokens


def test_a_dry_run_bills_the_teacher_and_no_server_of_the_study_s_own(capsys):
    print_estimate(resolve_plan("paper"), Limits(prices=Prices(prompt=2.0, completion=10.0)))
    lines = capsys.readouterr().out.splitlines()
    teacher, model = (next(line for line in lines if f"main: {stage}" in line) for stage in ("teacher", "persistent"))
    assert [line.split("│")[7].strip() for line in (teacher, model)] == ["83.62", "0.00"]


def test_a_dry_run_shows_the_stages_that_spend_nothing_with_dashes(capsys):
    print_estimate(resolve_plan("smoke"), Limits(prices=Prices(prompt=2.0, completion=10.0)))
    lines = capsys.readouterr().out.splitlines()
    for stage in ("instances, small for train", "main: preparation", "analysis"):
        (line,) = (line for line in lines if line.startswith(f"│ {stage} "))
        assert [cell.strip() for cell in line.split("│")[2:8]] == ["-", "-", "-", "-", "<0.01", "-"]


def prepare(home, plan):
    """Note 20 conversations as a plan's training data."""
    data = home / "data.jsonl"
    messages = (TrainingMessage(role="user", content="ab"), TrainingMessage(role="assistant", content="xyz"))
    write_conversations(data, [Conversation(messages=messages)] * 20)
    contracts = ("persistent", "stateless")
    prepared = TrainingData(
        dataset_id="one",
        paths=dict.fromkeys(contracts, data),
        digests=dict.fromkeys(contracts, digest_of_file(data)),
        tokens={},
    )
    (home / "datasets").mkdir(exist_ok=True)
    (home / "datasets" / f"{plan.digest}-main.json").write_text(prepared.model_dump_json())
    return data


def test_a_dry_run_counts_data_that_are_prepared_with_a_local_tokenizer(home, capsys):
    tokenizer = build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), home / "base")
    plan = resolve_plan("paper", Overrides(base_model=str(tokenizer)))
    prepare(home, plan)
    print_estimate(plan, Limits())
    printed = capsys.readouterr().out
    assert "training paper, stateless: the plan's own data" in printed
    # one of 20 is held out; 26 bytes and control tokens as in ChatML, and the empty think block of 19 bytes
    assert "tokens per pass: 855 (counted)" in printed


def test_a_dry_run_counts_with_the_tokenizer_that_the_plan_learned(home, capsys):
    plan = resolve_plan("smoke")
    prepare(home, plan)
    print_estimate(plan, Limits())
    assert "(estimated from characters)" in capsys.readouterr().out
    build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), home / "datasets" / f"tokenizer-{plan.digest}-main")
    print_estimate(plan, Limits())
    assert capsys.readouterr().out.count("tokens per pass: 520 (counted)") == 2  # 20 of 26 bytes and control tokens


def test_a_dry_run_counts_the_corpus_of_a_base_that_is_written(home, capsys):
    plan = resolve_plan("laptop_full", Overrides(parts=("common-1",)))
    data = prepare(home, plan)
    data.rename(home / "datasets" / f"{plan.digest}-main-common-base.jsonl")
    (home / "datasets" / f"{plan.digest}-main.json").unlink()
    build_tokenizer(["a"], TokenizerSpec(vocabulary_size=259), home / "datasets" / f"tokenizer-{plan.digest}-main")
    print_estimate(plan, Limits())
    printed = capsys.readouterr().out
    assert "training laptop_base, the common base: the plan's own data" in printed
    assert "tokens per pass: 494 (counted)" in printed  # one of 20 is held out


def test_a_base_whose_size_nothing_tells_is_said_to_be_unknown(capsys):
    print_estimate(resolve_plan("paper", Overrides(base_model="no/body")), Limits())
    assert capsys.readouterr().out.count(UNKNOWN_SHAPE) == 2


def test_trainings_that_parts_share_are_planned_once(capsys):
    print_estimate(resolve_plan("laptop_full"), Limits())
    printed = capsys.readouterr().out
    titles = [line for line in printed.splitlines() if line.startswith("training ")]
    assert len(set(titles)) == len(titles)
    assert "training laptop_common of part both-quarter-adapter, stateless" in printed
    assert UNKNOWN_SHAPE not in printed  # the plan tells the shape of a base of its own
    assert titles[:2] == [
        "training laptop_base of part common-1, the common base: its data are not prepared yet",
        "training laptop_both of part both, the both base: its data are not prepared yet",
    ]
    trainings = {part.training.model_dump_json() for part in resolve_plan("laptop_full").parts}
    assert len(titles) == 2 + 2 * len(trainings)


@pytest.mark.parametrize("name", ["laptop", "paper"])
def test_a_training_takes_as_long_in_the_table_of_a_dry_run_as_below_it(name):
    plan = resolve_plan(name)
    rows = [row.hours for row in estimate_study(plan, Prices(), 1) if row.training_tokens]
    assert rows == pytest.approx([min(one.estimate.hours.values()) for one in plan_trainings(plan)], rel=0.02)


def test_a_base_whose_size_nothing_tells_takes_as_long_as_the_paper_s_in_the_table_of_a_dry_run():
    known, unknown = (
        [row.hours for row in estimate_study(plan, Prices(), 1) if row.training_tokens]
        for plan in (resolve_plan("paper"), resolve_plan("paper", Overrides(base_model="no/body")))
    )
    assert unknown == pytest.approx(known, rel=0.05)


def test_a_setting_that_cannot_work_stops_a_dry_run_before_anything_is_printed(capsys):
    plan = with_batch(resolve_plan("paper"), max_length=65536)
    with pytest.raises(UserError, match=r"batch\.max_length 65,536 is beyond the model's 40,960 positions"):
        print_estimate(plan, Limits())
    assert capsys.readouterr().out == ""


def test_a_finished_study_prints_its_finding_on_one_screen(home, capsys):
    plan = resolve_plan("smoke")
    zone = LandingZone(home / "landing")
    zone.write({"runs": [build_row(RunRow, plan_digest=plan.digest)]}, "run")
    for train in ("persistent", "stateless"):
        for runtime in ("persistent", "stateless"):
            rows = build_episode(
                f"{train}-{runtime}",
                plan_digest=plan.digest,
                purpose="evaluation",
                train_contract=train,
                runtime_contract=runtime,
                finish_reason="finish_tool",
                score=0.5,
            )
            zone.write(rows, "run")
    merge(zone, home / "warehouse.duckdb")
    print_study(plan)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[:-1])) <= 100  # the last line is a path
    assert len(lines) <= 50
    text = "\n".join(lines)
    assert all(part in text for part in ("carryover tables", "carryover report", str(home / "warehouse.duckdb")))
