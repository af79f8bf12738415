import copy
import io
import json
import random
from collections import Counter
from itertools import product

import pyarrow.parquet
import pytest

from carryover.tasks.datasets.conversations import Conversation, read_conversations
from carryover.tasks.datasets.dataset import OMITTED, PLACEHOLDERS, prepare_dataset
from carryover.tasks.datasets.dataset_spec import OPTIONS, DatasetSpec, ValidationSpec
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.services.progress import no_bar
from carryover.tasks.sft.prepare import tokenize
from carryover.tasks.sft.tokenizer import build_tokenizer, chat_template
from carryover.tasks.sft.training_spec import TokenizerSpec
from carryover.tasks.traces.vocabulary import ContractName, FinishReason
from tests.bars import RecordedBars
from tests.presets import as_kept, kept_presets

CONTRACTS = ("persistent", "stateless")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    texts = ["You write code. Fill the knapsack.", "Thought 1.\n```python\nlook()\n```", '{"output": "1\\n"}'] * 9
    folder = tmp_path_factory.mktemp("tokenizer")
    return load_tokenizer(build_tokenizer(texts, TokenizerSpec(vocabulary_size=320), folder))


@pytest.fixture
def prepare(traces, tokenizer):
    def _prepare(*recorded, validation=None, open_bar=no_bar, contracts=CONTRACTS, **settings):
        tables = traces.record(*recorded)
        passed = {"contracts": contracts, "validation": validation, "open_bar": open_bar}
        return prepare_dataset(*tables.all, spec=DatasetSpec(**settings), tokenizer=tokenizer, run_id="run", **passed)

    return _prepare


@pytest.fixture
def arms(traces):
    """Four instances under both contracts; the third one fails in the persistent arm."""
    return [
        traces.trace(f"{contract}-{number}", contract, f"instance-{number}",
                     score=0.2 if (contract, number) == ("persistent", 2) else 1.0)
        for contract, number in product(CONTRACTS, range(4))]  # fmt: skip


def messages_of(dataset, contract="persistent"):
    return [record["messages"] for record in dataset.records[contract]]


def test_a_given_up_episode_is_no_trace_of_a_dataset(arms, traces, prepare):
    refused = traces.trace("refused", instance_id="instance-4", score=None, finish_reason=FinishReason.ERROR)
    dataset = prepare(*arms, refused)
    assert {row.episode_id for row in dataset.rows} == {trace.episode_id for trace in arms}
    assert dataset.verdicts.filter(reason="given_up")["episode_id"].to_list() == ["refused"]


def test_progress_shows_traces_checked_and_turned_into_text(arms, prepare, monkeypatch):
    monkeypatch.setattr("carryover.tasks.datasets.dataset.TRACES_AT_A_TIME", 2)
    bars = RecordedBars()
    prepare(*arms, open_bar=bars.open)
    checked, written = bars.named("data checks"), bars.named("training text")
    assert (checked.unit, checked.total, checked.done) == ("traces", 8, 8)
    # 4 of the stateless arm and 3 of the persistent one, whose third trace fails
    assert (written.total, sorted(written.advances)) == (7, [1, 2, 2, 2])


def test_a_full_disk_differs_from_an_unwritable_file(arms, prepare, tmp_path, limit_file_size):
    prepared = prepare(*arms)
    told = rf"cannot write {tmp_path}/\S+: File too large; free space there"
    with limit_file_size(100), pytest.raises(UserError, match=told):
        prepared.write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_file_is_one_line_and_nothing_half_written(arms, prepare, tmp_path):
    (tmp_path / "stateless.jsonl").mkdir()
    with pytest.raises(UserError, match=rf"cannot write {tmp_path}/stateless\.jsonl: Is a directory; make it writable"):
        prepare(*arms).write(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir() if file.is_file()) == [
        "persistent.jsonl",
        "persistent.parquet",
        "stateless.parquet",
    ]


def test_every_trace_has_a_row_with_its_fate(arms, prepare):
    dataset = prepare(*arms, maximum_kept=2)
    fates = Counter((row.contract, row.status) for row in dataset.rows)
    assert fates["persistent", "retained"] == fates["stateless", "retained"] == 2
    assert fates["stateless", "unprocessed"] == 2
    assert fates["persistent", "unprocessed"] + fates["persistent", "skipped"] == 2
    assert {row.episode_id for row in dataset.rows} == {trace.episode_id for trace in arms}


def test_a_rejection_keeps_reason_measure_and_threshold(arms, prepare):
    (skipped,) = (row for row in prepare(*arms).rows if row.status == "skipped")
    assert (skipped.episode_id, skipped.reason) == ("persistent-2", "score_too_low")
    assert (skipped.measured, skipped.threshold) == (0.2, 0.5)
    assert skipped.token_count is None


def test_token_counts_are_content_tokens_and_four_per_message(arms, prepare, tokenizer):
    dataset = prepare(*arms)
    record = dataset.records["stateless"][0]
    tokens = [len(tokenizer.encode(each["content"], add_special_tokens=False)) for each in record["messages"]]
    row = next(row for row in dataset.rows if row.episode_id == record["episode_id"])
    assert record["token_count"] == row.token_count == sum(tokens) + 4 * len(tokens)
    assert row.assistant_token_count == tokens[2] + tokens[4]
    assert row.message_count == 5


def test_a_truncation_left_on_the_tokenizer_falsifies_no_count(arms, prepare, tokenizer):
    expected = [row.token_count for row in prepare(*arms).rows]
    tokenizer.backend_tokenizer.enable_truncation(3)
    tokenizer.backend_tokenizer.enable_padding(length=50)
    try:
        assert [row.token_count for row in prepare(*arms).rows] == expected
    finally:
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()


def test_equal_inputs_in_any_order_give_equal_bytes(arms, prepare):
    shuffled = list(arms)
    random.Random(7).shuffle(shuffled)
    first, second = prepare(*arms), prepare(*shuffled)
    assert first.dataset_id == second.dataset_id
    for contract in CONTRACTS:
        assert first.jsonl(contract) == second.jsonl(contract)
        assert first.parquet(contract) == second.parquet(contract)


def test_another_spec_or_another_text_is_another_dataset(arms, prepare):
    base = prepare(*arms).dataset_id
    assert prepare(*arms, shuffle_seed=43).dataset_id != base
    assert prepare(*arms, text_format="exact_wire").dataset_id != base
    arms[0].task = "Fill another knapsack."
    assert prepare(*arms).dataset_id != base


def test_thresholds_that_change_no_fate_change_no_dataset(arms, prepare):
    assert prepare(*arms).dataset_id == prepare(*arms, validation=ValidationSpec(minimum_score=0.4)).dataset_id


def test_paired_retention_leaves_the_partner_out(arms, prepare):
    dataset = prepare(*arms, retention="paired")
    kept = [{record["instance_id"] for record in dataset.records[contract]} for contract in CONTRACTS]
    assert kept[0] == kept[1] == {"instance-0", "instance-1", "instance-3"}
    (overlap,) = dataset.overlaps()
    assert (overlap.instance_count, overlap.other_instance_count, overlap.shared_count) == (3, 3, 3)
    (partner,) = (row for row in dataset.rows if row.reason == "partner_rejected")
    assert partner.episode_id == "stateless-2"


def test_arms_that_keep_first_traces_share_what_both_keep(arms, prepare):
    dataset = prepare(*arms)  # the persistent arm rejects one of the four instances
    (overlap,) = dataset.overlaps()
    assert (overlap.contract, overlap.other_contract) == CONTRACTS
    assert (overlap.instance_count, overlap.other_instance_count, overlap.shared_count) == (3, 4, 3)
    assert overlap.dataset_id == dataset.dataset_id


def test_every_option_is_a_column_of_rows_and_files(traces, prepare):
    options = {
        "text_format": "exact_wire", "retention": "paired", "matching": "episodes", "labels": "shuffled",
        "fault_weight": 1,
    }  # fmt: skip
    assert set(options) == set(OPTIONS)
    both = [traces.trace(f"{contract}-0", contract, "instance-0") for contract in CONTRACTS]
    dataset = prepare(*both, **options)
    for row in dataset.rows:
        assert {name: getattr(row, name) for name in options} == options
    for contract in CONTRACTS:
        lines = [json.loads(line) for line in dataset.jsonl(contract).splitlines()]
        table = pyarrow.parquet.read_table(io.BytesIO(dataset.parquet(contract)))
        for record in [*lines, *table.to_pylist()]:
            assert {name: record[name] for name in options} == options
        # equal conversations are equal files, whichever episodes they came from
        assert lines == [{name: row[name] for name in row if name != "episode_id"} for row in table.to_pylist()]


@pytest.mark.parametrize("fault_weight", [0, 1])
def test_a_reply_with_a_fault_has_the_plans_weight(traces, prepare, fault_weight):
    steps = [traces.step("print(x)", injected="drop:x"), traces.step("x = 1"), traces.step("finish()")]
    dataset = prepare(traces.trace(steps=steps), fault_weight=fault_weight)
    (messages,) = messages_of(dataset)
    assert [each["weight"] for each in messages if each["role"] == "assistant"] == [fault_weight, 1, 1]
    table = pyarrow.parquet.read_table(io.BytesIO(dataset.parquet("persistent")))
    assert table.to_pylist()[0]["messages"] == messages


@pytest.mark.parametrize("template", ["chatml", "qwen3"])
def test_no_example_exceeds_the_training_length_under_any_template(traces, tokenizer, template):
    """Sixty turns of few tokens: at 4 per message they cost less than L - 100, with the template they exceed L."""
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.chat_template = chat_template(template)
    steps = [traces.step("a", output="1", text="\n b") for _ in range(60)]
    tables = traces.record(traces.trace(task="  Leading blanks merge.", steps=[*steps, traces.step("finish()")]))
    wide = prepare_dataset(*tables.all, spec=DatasetSpec(), tokenizer=tokenizer, run_id="run")
    cost, length = wide.rows[0].token_count, wide.rows[0].sequence_token_count
    assert cost is not None
    assert length is not None
    assert length > cost
    assert length == _trained_length(wide, tokenizer)
    spec = DatasetSpec(maximum_sequence_tokens=length - 1, reserved_tokens=0)
    assert cost <= spec.token_budget
    tight = prepare_dataset(*tables.all, spec=spec, tokenizer=tokenizer, run_id="run")
    (row,) = tight.rows
    assert row.is_truncated
    assert row.sequence_token_count == _trained_length(tight, tokenizer) <= spec.maximum_sequence_tokens


def _trained_length(dataset, tokenizer):
    (record,) = dataset.records["persistent"]
    ((ids, _),) = tokenize([Conversation.model_validate(record)], tokenizer)
    return len(ids)


def test_matching_by_tokens_evens_the_arms_out(arms, prepare, traces):
    for trace in arms[4:]:
        trace.steps = [traces.step("look()", output="long " * 30), traces.step("finish()")]
    dataset = prepare(*arms, matching="tokens")
    assert 0 < dataset.token_total("stateless") <= dataset.token_total("persistent")
    assert len(dataset.records["stateless"]) < len(dataset.records["persistent"])


def test_shuffled_labels_swap_whole_instances_between_the_arms(traces, prepare):
    recorded = [
        traces.trace(f"{contract}-{number}", contract, f"instance-{number}")
        for contract, number in product(CONTRACTS, range(12))
    ]
    dataset = prepare(*recorded, labels="shuffled")
    swapped = {}
    for arm in CONTRACTS:
        own = {record["instance_id"] for record in dataset.records[arm] if record["episode_id"].startswith(arm)}
        assert len(dataset.records[arm]) == 12
        swapped[arm] = {record["instance_id"] for record in dataset.records[arm]} - own
    assert swapped["persistent"] == swapped["stateless"]
    assert 2 <= len(swapped["persistent"]) <= 10


def test_shuffled_labels_mix_four_contracts_in_every_arm(traces, prepare):
    recorded = [
        traces.trace(f"{each}-{number}", each, f"i-{number}") for each, number in product(ContractName, range(40))
    ]
    dataset = prepare(*recorded, labels="shuffled", contracts=tuple(ContractName))
    for arm in ContractName:
        shares = Counter(record["episode_id"].rpartition("-")[0] for record in dataset.records[arm])
        assert (shares.total(), shares.keys()) == (40, set(ContractName))
        assert max(shares.values()) < 20


def test_a_share_of_the_other_contract_swaps_instances(traces, prepare):
    recorded = [traces.trace(f"{each}-{number}", each, f"i-{number}") for each, number in product(CONTRACTS, range(60))]
    shares = {}
    for share in (0.0, 0.1, 0.5, 1.0):
        records = prepare(*recorded, other_share=share).records
        other = {
            arm: {one["instance_id"] for one in records[arm] if not one["episode_id"].startswith(arm)}
            for arm in CONTRACTS
        }
        assert other["persistent"] == other["stateless"]
        assert {len(records[arm]) for arm in CONTRACTS} == {60}
        shares[share] = len(other["persistent"]) / 60
    assert shares == pytest.approx({0.0: 0, 0.1: 0.1, 0.5: 0.5, 1.0: 1}, abs=0.15)
    assert shares[1.0] == 1


def test_mixed_arms_follow_the_order_of_the_shuffle(traces, prepare):
    recorded = [traces.trace(f"{each}-{number}", each, f"i-{number}") for each, number in product(CONTRACTS, range(30))]
    dataset = prepare(*recorded, other_share=0.5)
    places = {row.instance_id: row.position for row in dataset.rows}
    for arm in CONTRACTS:
        order = [places[record["instance_id"]] for record in dataset.records[arm]]
        assert order == sorted(order)
    assert {row.other_share for row in dataset.rows} == {0.5}


def test_an_unmixed_dataset_keeps_its_digest():
    assert "other_share" not in DatasetSpec().model_dump()
    with pytest.raises(ValueError, match="'shuffled' are mixed already; leave other_share"):
        DatasetSpec(labels="shuffled", other_share=0.1)


def test_an_observation_too_long_is_masked_and_replies_stay(prepare, traces):
    steps = [traces.step(f"look({n})", output="9 " * (500 if n == 2 else 5), text=f"Look {n}.") for n in range(5)]
    long = traces.trace(steps=[*steps, traces.step("finish()", text="End.")])
    full = prepare(long).rows[0].token_count
    dataset = prepare(long, maximum_sequence_tokens=full - 100)
    contents = [message["content"] for message in messages_of(dataset)[0]]
    assert [content for content in contents if OMITTED in content] == [PLACEHOLDERS["paper"]]
    assert contents[2::2] == [f"Look {n}." for n in range(5)] + ["End."]
    (row,) = dataset.rows
    assert row.is_truncated
    assert row.token_count <= full - 200


def test_a_trace_over_budget_names_its_length_and_budget(traces, prepare):
    dataset = prepare(traces.trace(), maximum_sequence_tokens=110)
    (row,) = dataset.rows
    assert (row.status, row.reason, row.threshold) == ("skipped", "trunc_head_tail_exceeds_limit", 10.0)
    assert row.measured > 10


def test_a_trace_without_a_task_names_what_it_lacks(traces, prepare):
    dataset = prepare(traces.trace(task=""))
    (row,) = dataset.rows
    assert (row.status, row.reason) == ("skipped", "extraction_without_task_or_steps")
    assert (row.measured, row.threshold, row.content_digest) == (None, None, None)
    assert len(dataset.dataset_id) == 16


def test_the_files_are_read_by_training_and_as_parquet(arms, prepare, tmp_path):
    dataset = prepare(*arms)
    paths = dataset.write(tmp_path / "data")
    conversations = read_conversations(paths["stateless"])
    assert [len(each.messages) for each in conversations] == [5] * 4
    table = pyarrow.parquet.read_table(io.BytesIO(dataset.parquet("stateless")))
    assert table.to_pylist() == dataset.records["stateless"]
    assert (tmp_path / "data" / "stateless.parquet").read_bytes() == dataset.parquet("stateless")


def test_every_line_is_one_record_whatever_the_texts_hold(traces, prepare):
    dataset = prepare(traces.trace(task="Line one\u2028line two\x85 \x1c é"))
    assert len(dataset.jsonl("persistent").decode().splitlines()) == 1
    record = json.loads(dataset.jsonl("persistent"))
    assert record["messages"][1]["content"] == "Line one\u2028line two\x85 \x1c é"


def test_paired_and_equal_tokens_exclude_each_other():
    with pytest.raises(ValueError, match="choose retention keep_first or matching episodes"):
        DatasetSpec(retention="paired", matching="tokens")


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(ValueError, match="maximum_sequence_tokens 100 leaves nothing"):
        DatasetSpec(maximum_sequence_tokens=100)


def test_the_budget_is_the_papers():
    assert DatasetSpec().token_budget == 16_284


SETTINGS = {
    "by default": {},
    "two kept": {"maximum_kept": 2},
    "paired": {"retention": "paired"},
    "equal tokens": {"matching": "tokens"},
    "shuffled labels": {"labels": "shuffled"},
    "half of the other": {"other_share": 0.5},
    "as on the wire": {"text_format": "exact_wire", "fault_weight": 1},
    "of another seed": {"shuffle_seed": 7, "maximum_kept": 1},
    "in few tokens": {"maximum_sequence_tokens": 160, "reserved_tokens": 20, "message_overhead_tokens": 6},
}
SHOWN = (
    "status", "reason", "measured", "threshold", "position", "token_count", "assistant_token_count", "message_count",
    "sequence_token_count", "is_truncated", "content_digest",
)  # fmt: skip


def recorded_arms(traces):
    """Traces of both contracts: scores, lengths, faults and an instance of one arm alone."""
    faulty = [traces.step("print(x)", injected="drop:x", text="A fault."), *traces.trace().steps]
    longer = [*(traces.step(f"x = {number}", text=f"Step {number}. " * 5) for number in range(4)), *faulty]
    arms = [
        traces.trace(f"{contract}-{number}", contract, f"instance-{number}", steps=steps)
        for contract in CONTRACTS
        for number, steps in enumerate((traces.trace().steps, faulty, longer))
    ]
    poor = traces.trace("persistent-4", "persistent", "instance-4", score=0.2)
    return [*arms, poor, traces.trace("stateless-4", "stateless", "instance-4")]


def told(dataset):
    """Return the fate of each trace, and which traces train which arm."""
    rows = {row.episode_id: [getattr(row, name) for name in SHOWN] for row in dataset.rows}
    trained = {contract: [each["episode_id"] for each in dataset.records[contract]] for contract in CONTRACTS}
    shared = [[each.instance_count, each.other_instance_count, each.shared_count] for each in dataset.overlaps()]
    return {"rows": rows, "trained": trained, "shared": shared}


@pytest.mark.parametrize("name", SETTINGS)
def test_fates_and_sizes_of_traces_are_the_kept_ones(prepare, traces, name):
    dataset = prepare(*recorded_arms(traces), **SETTINGS[name])
    assert as_kept(told(dataset)) == kept_presets(__file__, "fates.json")[name]
