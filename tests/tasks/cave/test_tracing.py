"""A conversation lands in the tables of the study's episodes, for every reader of them."""

import dataclasses
import hashlib
import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from carryover.flows.cli.folders import open_warehouse
from carryover.flows.cli.traces.exchange import export_episodes
from carryover.flows.cli.traces.lint import lint_warehouse
from carryover.flows.cli.traces.replay import print_episode
from carryover.storage.warehouse.merger import merge
from carryover.storage.zone.landing import LandingZone
from carryover.tasks.agent.events import Answer
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.cave.scripted import block, scripted
from carryover.tasks.cave.tracing import Trace, agents_source, conversation_fields
from carryover.tasks.services.environment import describe_environment
from carryover.tasks.services.source_digest import canonical_json
from carryover.tasks.stages.gate import check_files
from carryover.tasks.traces.vocabulary import FinishReason

SCRIPT = [
    block("import math\nroot = math.sqrt(limit)\nprint(look(3))\nMark(1)", thought="I take the root."),
    block("import subprocess"),
    block("missing + 1"),
    "The root is 3.",
    block("print(root)"),
    "Still 3.",
]


def look(number: int) -> int:
    """Return the number."""
    return number


@dataclasses.dataclass
class Mark:
    """A mark."""

    value: int


@pytest.fixture
def trace(open_agent) -> Trace:
    agent = open_agent(*SCRIPT)
    agent.inject("limit", 9)
    agent.inject("look", look)
    agent.inject("Mark", Mark)  # a class is no tool: its calls are not counted
    trace = Trace(agent, run_id="run")
    agent.ask("What is the root?", watch=trace.watch)
    agent.ask("And now?", watch=trace.watch)
    return trace


def test_rows_hold_what_happened(trace):
    recorded = trace.finish()
    episode = recorded.episode
    assert (episode.agent, episode.finish_reason, episode.turn_count, episode.step_count) == ("cave", "answer", 6, 4)
    assert episode.is_contract_verified
    assert episode.executed_call_count == episode.call_site_count == 1
    assert [turn.turn for turn in recorded.turns] == list(range(7))
    assert [message["role"] for message in json.loads(recorded.turns[0].observation or "")] == ["system", "user"]
    assert recorded.turns[4].observation == "And now?"
    assert recorded.turns[6].observation is None
    assert [error.error_type for error in recorded.errors] == ["PolicyViolation", "NameError"]
    assert [event.kind for event in recorded.runtime_events] == ["policy_violation"]
    assert recorded.steps[3].active_globals_before == ("root",)
    assert episode.prompt_tokens == sum(turn.prompt_tokens for turn in recorded.turns) > 0


@pytest.mark.parametrize(("given", "kept"), [(None, "agent"), ("case 7", "case 7")])
def test_a_trace_is_about_its_instance_or_the_agent(open_agent, given, kept):
    agent = open_agent("Done.")
    trace = Trace(agent, run_id="run", instance_id=given)
    agent.ask("Do nothing.", watch=trace.watch)
    assert trace.finish().episode.instance_id == kept


def test_every_check_export_lint_and_the_viewer_read_it(trace, tmp_path, capsys):
    landing = LandingZone(tmp_path / "landing")
    rows = trace.rows()
    landing.write(rows, "run")
    merge(landing, tmp_path / "warehouse.duckdb")
    with open_warehouse(tmp_path) as warehouse:
        assert warehouse.sql("select agent from episodes").rows() == [("cave",)]
        checks = {"plan_instance_counts", "run_source_is_the_plans"}  # of a study's plans
        broken = {
            check.name: warehouse.sql(check.query, plan_digest=None).rows()
            if "$plan_digest" in check.query
            else warehouse.sql(check.query).rows()
            for check in check_files()
            if check.name not in checks
        }
        assert {name: rows for name, rows in broken.items() if rows} == {}
        for name in ("authors", "jsonl", "parquet", "atif"):
            assert export_episodes(warehouse, tmp_path / name, name, "agent = 'cave'", None) == 1
        assert len(list(lint_warehouse(warehouse, None))) == 1
        print_episode(warehouse, rows["episodes"][0].episode_id, None)
    assert "answer after 6 turns" in capsys.readouterr().out


def test_resumed_agents_trace_opens_with_the_conversation_so_far(open_agent, save_file, fork_tree):
    agent = open_agent(block("x = 1"), "Done.", save_to=save_file)
    agent.ask("Go.")
    agent.save(save_file)
    resumed = type(agent).resume(save_file, agent.client, runtime=fork_tree)
    resumed.text.entries.pop()
    trace = Trace(resumed, run_id="run")
    resumed.go_on(watch=trace.watch)
    recorded = trace.finish()
    opening = json.loads(recorded.turns[0].observation or "")
    assert [message["role"] for message in opening] == ["system", "user", "assistant", "user"]
    assert recorded.episode.turn_count == 1
    assert pl.DataFrame(recorded.rows["episodes"])["agent"].to_list() == ["cave"]
    resumed.close()


def test_nothing_answered_is_no_episode(open_agent):
    with pytest.raises(ValueError, match="nothing was answered yet"):
        Trace(open_agent("unused"), run_id="run").finish()


def test_a_declaration_says_who_played_and_how(open_agent, tmp_path):
    for name in ("plot", "mail"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: It can {name}.\n---\nDo it.\n")
    agent = open_agent("Done.", skills=tmp_path, instructions="Be brief.")
    trace = Trace(agent, run_id="run", instance_id="i", scale="laptop", replicate=3)
    agent.ask("Go.", watch=trace.watch)
    episode = trace.finish().episode
    assert (episode.instance_id, episode.scale, episode.replicate) == ("i", "laptop", 3)
    declared = json.loads(episode.contract_json)
    told = {name: declared[name] for name in ("agent", "instructions", "skills", "backend", "sandbox_level")}
    assert told == {
        "agent": "cave", "instructions": "Be brief.", "skills": ["mail", "plot"], "backend": "fork_tree",
        "sandbox_level": agent.worker.sandbox_level,
    }  # fmt: skip
    assert declared["contract"]["name"] == "persistent"
    assert declared["code_digest"] == agents_source()
    assert declared["spec"]["max_steps"] == agent.spec.max_steps


@pytest.mark.parametrize(("stop", "message"), [(FinishReason.ANSWER, None), (FinishReason.ERROR, "It ended.")])
def test_every_conversation_has_the_fields_of_an_episode(stop, message):
    answer = Answer("It ended.", stop=stop, step_count=1, prompt_tokens=2, completion_tokens=3)
    spec = AgentSpec(max_steps=4, max_tokens=500)
    started_at = datetime.now(UTC) - timedelta(hours=1)
    fields = conversation_fields("{}", spec, answer, client=scripted(), contract="persistent", started_at=started_at)
    assert 3600 <= fields.pop("wall_seconds") < 7200
    assert fields == {
        "purpose": "evaluation", "variant": "cave", "base": "hub", "visibility": "declared", "header": "none",
        "family": "cave", "agent": "cave", "model_digest": None, "train_contract": None, "bucket": "conversation",
        "split": "evaluation", "is_out_of_distribution": False, "training_seed": None, "tool_call_cap": None,
        "max_turns": 4, "max_tokens": 500, "contract_json": "{}",
        "plan_digest": hashlib.sha256(b"{}").hexdigest()[:16], "model_name": "scripted",
        "token_source": "training_tokenizer", "runtime_contract": "persistent", "shown_contract": "persistent",
        "attempt": 0, "finish_reason": stop, "error_message": message, "score": None, "is_solved": False,
        "training_tokens": None, "started_at": started_at,
    }  # fmt: skip


def test_a_conversations_run_and_episode_have_one_name(trace):
    rows = trace.rows()
    (run,) = rows["runs"]
    (episode,) = rows["episodes"]
    told = run.model_dump(include={"run_id", "flow", "plan_name", "plan_digest", "scale", "plan_json"})
    assert told == {
        "run_id": "run", "flow": "ask", "plan_name": "conversation", "plan_digest": episode.plan_digest,
        "scale": "smoke", "plan_json": episode.contract_json,
    }  # fmt: skip
    assert run.environment_json == canonical_json(describe_environment())
    assert run.started_at == episode.started_at
    name = canonical_json(["run", "agent", episode.contract_json, 0])
    assert episode.episode_id == hashlib.sha256(name.encode()).hexdigest()[:24]
    assert (episode.backend, episode.instance_id, episode.scale, episode.replicate) == (
        "fork_tree",
        "agent",
        "smoke",
        0,
    )


def test_a_named_agent_has_no_salt_in_its_declaration(open_agent):
    declared = {}
    for name in ("me", None):
        agent = open_agent("Done.", name=name)
        trace = Trace(agent, run_id="run", episode_id="given")
        agent.ask("Go.", watch=trace.watch)
        episode = trace.finish(variant="mine").episode
        assert (episode.episode_id, episode.variant) == ("given", "mine")
        declared[name] = json.loads(episode.contract_json).get("salt")
    assert declared == {"me": None, None: agent.runtime.interpreter.salt}
    assert declared[None]
