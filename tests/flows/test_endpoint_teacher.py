"""A study whose teacher is an endpoint: limits stop it, higher ones finish it, and what is refused can be given up."""

import re
from collections import Counter
from typing import NamedTuple

import polars as pl
import pytest
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

from carryover.flows.cli.command import run_as_command
from carryover.flows.reproduce_study import reproduce_study
from carryover.storage.warehouse.reader import Warehouse
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.condition import decoding_seed
from carryover.tasks.knapsack.knapsack_spec import open_bucket
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.resolve import resolve_plan
from tests.flows.teacher_endpoint import COMPLETION_TOKENS, MODEL, PROMPT_TOKENS, TeacherEndpoint, serve_teacher

TRAIN_COUNT, EVALUATION_COUNT = 12, 2
COUNTS = ("--train-count", str(TRAIN_COUNT), "--evaluation-count", str(EVALUATION_COUNT))
STUDY_ENDS = """
select status
from run_ends inner join runs using (run_id)
where flow = 'reproduce_study'
order by run_ends.finished_at"""
"""How each start of the study ended; its servers are runs of their own."""
ALL_EPISODES = {"teacher": 2 * TRAIN_COUNT, "evaluation": 10 * EVALUATION_COUNT}
PRICES = '{"prompt": 100, "completion": 400}'
COST = (PROMPT_TOKENS * 100 + COMPLETION_TOKENS * 400) / 1_000_000
"""Of one reply, at these prices."""

LONG_STAGES = (
    "instances, small for train",
    f"main, {MODEL} on persistent, small",
    "data checks",
    "training text",
    "Great Expectations",
    "main, training persistent seed 0",
    "main, persistent-0 on stateless, small",
    "merge",
    "marts",
    "statistics",
    "checks on the merged tables",
)
"""What is told how far it has come, by the labels of the bars."""

pytestmark = [pytest.mark.prefect, pytest.mark.slow, pytest.mark.timeout(1500)]


@pytest.fixture
def home(prefect_api, tmp_path, monkeypatch):
    """An empty data folder."""
    home = tmp_path / "data"
    monkeypatch.setenv("CARRYOVER_HOME", str(home))
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    monkeypatch.delenv("CARRYOVER_LANDING", raising=False)
    with temporary_settings({PREFECT_API_URL: prefect_api, PREFECT_HOME: home / "prefect"}):
        yield home


class Ended(NamedTuple):
    """How a start of the study ended."""

    code: int
    printed: str
    said: tuple[str, ...]
    """The lines on standard error."""

    @property
    def last_line(self) -> str:
        """The one that says why it ended, where it failed."""
        return self.said[-1]


@pytest.fixture
def start(capsys):
    def _start(endpoint, *options):
        teacher = ("--teacher-url", endpoint.base_url, "--teacher-model", MODEL)
        with pytest.raises(SystemExit) as ending:
            # few episodes at a time, so that a limit is met while others still wait
            run_as_command(reproduce_study, ["--scale", "smoke", "--concurrency", "2", *COUNTS, *teacher, *options])
        said = capsys.readouterr()
        return Ended(int(ending.value.code or 0), said.out, tuple(said.err.splitlines()))

    return _start


def landed_tokens(home):
    """Return the tokens that the teacher's landed turns were charged."""
    zone = LandingZone(home / "landing")
    teachers = zone.scan("episodes").filter(purpose="teacher")
    turns = zone.scan("turns").filter(is_replayed=False).join(teachers, on="episode_id", how="semi")
    return turns.select((pl.col("prompt_tokens") + pl.col("completion_tokens")).sum()).collect().item()


def requests_by_contract(home, asked):
    """Count every request under its episode's contract: the two may have an instance's first request in common."""
    episodes = LandingZone(home / "landing").scan("episodes").collect()
    contracts = dict(zip(episodes["episode_id"], episodes["runtime_contract"], strict=True))
    return Counter((contracts[one.episode_id], one.body) for one in asked)


def test_higher_limits_finish_a_study_and_pay_replies_once(home, start):
    endpoint = TeacherEndpoint()
    with serve_teacher(endpoint):
        by_tokens = start(endpoint, "--max-tokens-total", "300")
        assert by_tokens.code == 1
        assert re.fullmatch(
            r"carryover: \d+ tokens are spent of max_tokens_total 300; "
            "progress is saved; resume with a higher limit",
            by_tokens.last_line,
        )
        paid = len(endpoint.asked)
        assert landed_tokens(home) == paid * (PROMPT_TOKENS + COMPLETION_TOKENS)

        limit = f"{(paid + 1) * COST:.3f}"
        by_cost = start(endpoint, "--max-cost", limit, "--prices", PRICES)
        assert by_cost.code == 1
        assert re.fullmatch(
            rf"carryover: [\d.]+ is spent of max_cost {float(limit):.2f}; "
            "progress is saved; resume with a higher limit",
            by_cost.last_line,
        )
        assert len(endpoint.asked) > paid

        higher = ("--max-tokens-total", "100000000", "--max-cost", "1000", "--prices", PRICES)
        finished = start(endpoint, *higher)
    assert finished.code == 0, finished.last_line
    assert "numbers without meaning" in finished.printed
    assert "carryover tables" in finished.printed
    told = {line.partition(": ")[0] for line in (*by_tokens.said, *finished.said)}
    assert set(LONG_STAGES) <= told

    assert set(requests_by_contract(home, endpoint.asked).values()) == {1}
    assert landed_tokens(home) == len(endpoint.asked) * (PROMPT_TOKENS + COMPLETION_TOKENS)
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        ends = warehouse.sql(STUDY_ENDS).rows()
        episodes = dict(warehouse.sql("select purpose, count(*) from episodes group by purpose").rows())
        (steps,) = warehouse.sql("select sum(step_count), (select count(*) from steps) from episodes").rows()
        attempts = warehouse.sql("select count(distinct episode_id), max(attempt) from episodes").rows()
    assert ends == [("stopped",), ("stopped",), ("finished",)]
    assert episodes == ALL_EPISODES
    assert steps[0] == steps[1]
    assert attempts == [(sum(ALL_EPISODES.values()), 0)]


def kept_replies(home):
    """Return the kept replies by the names of their files; that of an older one holds a hyphen."""
    return {file.name: file.read_text() for file in (home / "teacher_responses").rglob("*.json")}


def test_refreshed_traces_are_asked_for_anew(home, start):
    endpoint = TeacherEndpoint()
    with serve_teacher(endpoint):
        assert start(endpoint).code == 0
        paid = len(endpoint.asked)
        before = kept_replies(home)
        refreshed = start(endpoint, "--refresh", "traces")
        assert refreshed.code == 0, refreshed.last_line
        anew = endpoint.asked[paid:]
        assert start(endpoint).code == 0
    assert endpoint.asked[paid + len(anew) :] == []  # a finished plan asks for nothing
    requests = requests_by_contract(home, endpoint.asked[:paid])
    assert requests.keys() <= requests_by_contract(home, anew).keys()
    after = kept_replies(home)
    assert set(before.values()) <= set(after.values())
    newest = [name for name in before if "-" not in name]
    assert newest
    assert all(after[name] != before[name] for name in newest)
    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        replayed = "select count(*) from turns inner join episodes using (episode_id) where attempt = 1 and is_replayed"
        assert warehouse.sql(replayed).rows() == [(0,)]


def first_decoding_seed(place):
    """Return the decoding seed of the first turns on one of the training instances."""
    (part,) = resolve_plan("smoke", Overrides(train_count=TRAIN_COUNT)).parts
    instance = sample_instance(open_bucket(part.train_instances.bucket), part.train_instances.seeds[place])
    return decoding_seed(instance.instance_id, turn=1, replicate=0)


@pytest.mark.long
def test_always_refused_instance_is_given_up(home, start):
    refused = first_decoding_seed(place=3)
    endpoint = TeacherEndpoint(frozenset({refused}))
    with serve_teacher(endpoint):
        first = start(endpoint)
        assert first.code == 1
        assert first.last_line == (
            f"carryover: 2 of {2 * TRAIN_COUNT} teacher episodes of plan smoke, main, are missing (2 ended with an "
            "error): nothing is trained on the rest; start again to play them, or give up with --teacher-attempts 1 "
            "those that fail every time (kept replies cost nothing)"
        )
        paid = len(endpoint.asked)
        second = start(endpoint, "--teacher-attempts", "1")
    assert second.code == 0, second.last_line
    assert endpoint.asked[paid:] == []  # each has failed once, and kept replies answer the rest
    assert "2 episodes ended with `error` and are left out; the next start plays none of them again" in second.printed

    with Warehouse.open(home / "warehouse.duckdb") as warehouse:
        ends = warehouse.sql(STUDY_ENDS).rows()
        given_up = warehouse.sql(
            "select contract, count(*) from trace_verdicts where reason = 'given_up' group by all order by all"
        ).rows()
        examples = warehouse.sql(
            "select contract, count(*) from training_examples group by contract order by contract"
        ).rows()
    assert ends == [("failed",), ("finished",)]
    assert given_up == [("persistent", 1), ("stateless", 1)]
    assert examples == [("persistent", TRAIN_COUNT - 1), ("stateless", TRAIN_COUNT - 1)]
