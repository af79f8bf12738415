"""An agent's conversation as rows of the study's tables."""

import ast
import hashlib
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from carryover.tasks.agent.events import Answer, Asked, Event, Replied
from carryover.tasks.agent.protocol import ModelClient
from carryover.tasks.agent.recorder import EpisodeRecorder, RecordedEpisode
from carryover.tasks.cave.agent import Agent
from carryover.tasks.cave.agent_spec import AgentSpec
from carryover.tasks.services.environment import describe_environment
from carryover.tasks.services.source_digest import canonical_json, source_digest
from carryover.tasks.services.syntax import parse_python
from carryover.tasks.traces.rows import Row
from carryover.tasks.traces.study_rows import RunRow
from carryover.tasks.traces.vocabulary import Scale


class Trace:
    """Records an agent's conversation as rows.

    Give `watch` to each `ask`, land the rows, and `carryover merge` takes them in.

        trace = Trace(agent, run_id="my-run")
        agent.ask("...", watch=trace.watch)
        LandingZone(Path("data/landing")).write(trace.rows(), "my-run")

    One trace is one episode, whatever the number of questions; a resumed agent's trace begins where it resumed.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        run_id: str,
        instance_id: str | None = None,
        scale: Scale = "smoke",
        replicate: int = 0,
        episode_id: str | None = None,
    ) -> None:
        """Begin to record.

        `instance_id` names what the conversation is about, by default the agent itself; `episode_id` is by default a
        digest of the run, the agent's declaration and the replicate.
        """
        self._agent = agent
        self._declaration = _declaration(agent)
        self._place = {"instance_id": instance_id or agent.loop_state.name, "scale": scale, "replicate": replicate}
        name = canonical_json([run_id, self._place["instance_id"], self._declaration, replicate])
        digest = hashlib.sha256(name.encode()).hexdigest()[:24]
        self._recorder = EpisodeRecorder(run_id, episode_id or digest)
        interpreter = agent.runtime.interpreter
        self._recorder.follow(interpreter, skips=len(interpreter.events))
        self._started_at = datetime.now(UTC)
        self._answer: Answer | None = None
        self._is_open = False

    def watch(self, event: Event) -> None:
        """Record an event of the agent's."""
        if isinstance(event, Answer):
            self._answer = event
        if isinstance(event, Asked | Replied) and not self._is_open:
            self._open()
        injected = self._agent.runtime.interpreter.injected
        self._recorder.tools = sorted(entry.name for entry in injected if entry.kind == "function")
        self._recorder.watch(event)

    def rows(self) -> dict[str, list[Row]]:
        """Return the conversation's rows with a run of its own; call once.

        Raises:
            ValueError: Nothing was answered.
        """
        recorded = self.finish()
        episode = recorded.episode
        run = RunRow(
            run_id=episode.run_id,
            flow="ask",
            plan_name="conversation",
            plan_digest=episode.plan_digest,
            scale=self._place["scale"],
            plan_json=self._declaration,
            environment_json=canonical_json(describe_environment()),
            started_at=self._started_at,
        )
        return {**recorded.rows, run.TABLE: [run]}

    def finish(self, **fields: Any) -> RecordedEpisode:
        """Return the conversation's rows, for a run that callers land.

        `fields` are those of the episode's row that the caller knows better.

        Raises:
            ValueError: Nothing was answered.
        """
        if self._answer is None:
            raise ValueError("nothing was answered yet; give `watch` to `ask`, and finish afterwards")
        agent = self._agent
        common = conversation_fields(
            self._declaration,
            agent.spec,
            self._answer,
            client=agent.client,
            contract=agent.runtime.interpreter.contract.name,
            started_at=self._started_at,
        )
        return self._recorder.finish(
            {
                **common,
                **self._place,
                "sandbox_level": agent.worker.sandbox_level,
                "backend": agent.worker.backend,
                **fields,
            }
        )

    def _open(self) -> None:
        """Record the messages before the first reply."""
        self._is_open = True
        messages = self._agent.text.messages()
        has_reply = messages[-1].role == "assistant"
        self._recorder.record_opening(messages[:-1] if has_reply else messages)


@cache
def agents_source() -> str:
    """Return the digest of the source that plays conversations, their cases included."""
    source = source_digest(("carryover.tasks.cave", "carryover.tasks.runtime"))
    docs = docstrings(Path(__file__).parent)
    return hashlib.sha256(canonical_json([source, docs]).encode()).hexdigest()[:16]


def docstrings(folder: Path) -> list[str | None]:
    """Return a folder's docstrings, which models read where injected."""
    found = []
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(parse_python(file.read_bytes())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found.append(ast.get_docstring(node))
    return found


def conversation_fields(
    declaration: str, spec: AgentSpec, answer: Answer, *, client: ModelClient, contract: str, started_at: datetime
) -> dict[str, Any]:
    """Return the fields of an episode's row that every conversation has."""
    return {
        "purpose": "evaluation",
        "variant": "cave",
        "base": "hub",
        "visibility": "declared",
        "header": "none",
        "family": "cave",
        "agent": "cave",
        "model_digest": None,
        "train_contract": None,
        "bucket": "conversation",
        "split": "evaluation",
        "is_out_of_distribution": False,
        "training_seed": None,
        "tool_call_cap": None,
        "max_turns": spec.max_steps,
        "max_tokens": spec.max_tokens,
        "contract_json": declaration,
        "plan_digest": hashlib.sha256(declaration.encode()).hexdigest()[:16],
        "model_name": client.model_name,
        "token_source": client.token_source,
        "runtime_contract": contract,
        "shown_contract": contract,
        "attempt": 0,
        "finish_reason": answer.stop,
        "error_message": answer.text if answer.stop == "error" else None,
        "score": None,
        "is_solved": False,
        "training_tokens": None,
        "started_at": started_at,
        "wall_seconds": (datetime.now(UTC) - started_at).total_seconds(),
    }


def _declaration(agent: Agent) -> str:
    """Return the conversation's declaration as canonical JSON."""
    content: dict[str, Any] = {
        "agent": "cave",
        "contract": agent.runtime.interpreter.contract,
        "spec": agent.spec,
        "instructions": agent.instructions,
        "skills": sorted(agent.skills),
        "code_digest": agents_source(),
        "backend": agent.worker.backend,
        "sandbox_level": agent.worker.sandbox_level,
    }
    salt = agent.runtime.interpreter.salt
    if salt:
        content["salt"] = salt
    return canonical_json(content)
