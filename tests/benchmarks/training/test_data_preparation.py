"""Validation, extraction and truncation of 10,000 traces, beside bare batch tokenization of the same text."""

import json
import random
import time
from typing import NamedTuple

import polars as pl
import pytest

from carryover.tasks.datasets.dataset import prepare_dataset
from carryover.tasks.datasets.dataset_spec import DatasetSpec
from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.training_spec import TokenizerSpec
from tests.flattening import flat

INSTANCES = 5_000
CONTRACTS = ("persistent", "stateless")
STEPS = {"persistent": 5, "stateless": 7}
"""Rounded means of the teacher's traces (arXiv 2603.01209, Table 1)."""
ITEMS_SHOWN = 14
"""Items printed per step: about 1,100 characters."""

BATCH_TEXTS = 4096
"""Texts tokenized in one go: enough for every core, few enough that their encodings stay small."""
ALLOWED_RATIO = 1.5
"""Processor time of data preparation over that of bare tokenization, at most."""

SENTENCE = "the budget leaves room for more items so inspect another part of the list before packing and keep a weight"
WORDS = SENTENCE.split()


def observation(rng):
    items = {
        f"item_{rng.getrandbits(48):012x}": {"class": rng.choice("ABCDEFGHIJKLMNO"), "value": rng.randint(10, 100),
                                             "weight": rng.randint(5, 20)}
        for _ in range(ITEMS_SHOWN)
    }  # fmt: skip
    return json.dumps(items)


def reply(rng, step, is_last):
    thought = " ".join(rng.choices(WORDS, k=30))
    lines = [
        f"chosen_{step} = [{', '.join(str(rng.randint(0, 40)) for _ in range(6))}]",
        f"for place in range({rng.randint(2, 9)}):",
        "    data = json.loads(inspect(ids[place]))",
        "    if data['value'] / data['weight'] > threshold and data['class'] not in banned:",
        "        known[ids[place]] = (data['weight'], data['value'], data['class'])",
        f"print(len(known), sorted(known.items(), key=lambda pair: -pair[1][1])[:{rng.randint(3, 20)}])",
    ]
    code = "\n".join([*lines, "finish()"] if is_last else lines)
    return f"{thought.capitalize()}.\n```python\n{code}\n```", code


def opening(rng, contract):
    prompts = [" ".join(random.Random(seed).choices(WORDS, k=280)) for seed in ("base", contract, "demos", "tools")]
    task = f"Capacity {rng.randint(20, 90)}, budget {rng.randint(10, 40)}. " + " ".join(rng.choices(WORDS, k=150))
    wire = json.dumps({"task": task, "runtime_state": {"runtime": contract}})
    return json.dumps([{"role": "system", "content": text} for text in prompts] + [{"role": "user", "content": wire}])


def recorded_traces(instance_count):
    """Return the columns that data preparation reads, of a teacher episode per instance and contract."""
    rng = random.Random(0)
    episodes, turns, steps = [], [], []
    for number in range(instance_count):
        for contract in CONTRACTS:
            episode_id = f"{contract}-{number}"
            episodes.append(
                {"episode_id": episode_id, "runtime_contract": contract, "instance_id": f"instance-{number}",
                 "plan_digest": "plan", "variant": "main", "replicate": 0, "attempt": 0, "finish_reason": "finish_tool",
                 "score": 0.2 if rng.random() < 0.2 else 0.8}
            )  # fmt: skip
            turns.append((episode_id, 0, "", opening(rng, contract)))
            for step in range(1, STEPS[contract] + 1):
                text, code = reply(rng, step, is_last=step == STEPS[contract])
                output = observation(rng)
                turns.append((episode_id, step, text, output))
                steps.append((episode_id, step, step, code, output))
    turn_schema = {"episode_id": pl.String, "turn": pl.Int64, "assistant_text": pl.String, "observation": pl.String}
    step_schema = dict.fromkeys(("episode_id", "step", "turn", "code", "output"), pl.String)
    step_schema |= {"step": pl.Int64, "turn": pl.Int64}
    nothing = pl.lit(None, dtype=pl.String)
    error_schema = {"episode_id": pl.String, "step": pl.Int64, "is_injected": pl.Boolean, "is_caught": pl.Boolean}
    return (
        pl.DataFrame(episodes),
        pl.DataFrame(turns, schema=turn_schema, orient="row"),
        pl.DataFrame(steps, schema=step_schema, orient="row").with_columns(error=nothing, injected_fault=nothing),
        pl.DataFrame(schema=error_schema),
    )


class Timing(NamedTuple):
    wall_seconds: float
    cpu_seconds: float
    """Of all threads; what to trust on a busy machine."""

    def over(self, other):
        """Return the ratio of processor times."""
        return self.cpu_seconds / other.cpu_seconds

    def beside(self, other):
        wall = self.wall_seconds / other.wall_seconds
        return (
            f"{self.wall_seconds:.1f} s, ratio {wall:.2f} (CPU {self.cpu_seconds:.1f} s, ratio {self.over(other):.2f})"
        )


def timed(work):
    """Return what `work` returns, and its timing."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Timing(time.perf_counter() - wall, time.process_time() - cpu)


def count_tokens(backend, texts):
    """Return the tokens of texts, tokenized in batches and nothing else."""
    count = 0
    for start in range(0, len(texts), BATCH_TEXTS):
        encodings = backend.encode_batch_fast(texts[start : start + BATCH_TEXTS])
        count += sum(map(len, encodings))
    return count


def make_tokenizer(tables, folder):
    sample = tables[1]["assistant_text"].head(1000).to_list() + tables[1]["observation"].head(1000).to_list()
    return load_tokenizer(build_tokenizer(sample, TokenizerSpec(vocabulary_size=4000), folder))


def test_the_traces_of_the_benchmark_are_what_data_preparation_reads(tmp_path):
    tables = recorded_traces(10)
    dataset = prepare_dataset(*tables, spec=DatasetSpec(), tokenizer=make_tokenizer(tables, tmp_path), run_id="run")
    assert len(dataset.rows) == 20
    assert {row.reason for row in dataset.rows} == {None, "score_too_low"}


@pytest.mark.benchmark
@pytest.mark.timeout(1800)
def test_ten_thousand_traces_cost_at_most_1_5_bare_tokenizations(tmp_path, keep_figure):
    tables = recorded_traces(INSTANCES)
    tokenizer = make_tokenizer(tables, tmp_path)
    backend = getattr(tokenizer, "backend_tokenizer")  # noqa: B009 - only fast tokenizers have it
    backend.encode_batch_fast(["warm"] * 8)

    spec = DatasetSpec(maximum_kept=INSTANCES)
    dataset, ours = timed(lambda: prepare_dataset(*tables, spec=spec, tokenizer=tokenizer, run_id="run"))
    records = flat(dataset.records[contract] for contract in CONTRACTS)
    texts = [message["content"] for message in flat(record["messages"] for record in records)]
    tokens, bare = timed(lambda: count_tokens(backend, texts))
    _, bare_distinct = timed(lambda: count_tokens(backend, list(dict.fromkeys(texts))))
    what = "CPU to validate, extract and truncate 10,000 traces over bare batch tokenization of their"
    keep_figure(f"{what} text", ours.over(bare), at_most=ALLOWED_RATIO)
    keep_figure(f"{what} distinct messages", ours.over(bare_distinct))
    keep_figure("tokens prepared per second", tokens / ours.wall_seconds / 1e3, "thousand")
    assert len(dataset.rows) == 10_000
    assert len(records) == sum(row.status == "retained" for row in dataset.rows) > 0.7 * len(dataset.rows)
    assert ours.over(bare) <= ALLOWED_RATIO
