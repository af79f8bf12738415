"""A family of one's own as the study plays it."""

import inspect
import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from carryover.tasks.agent.family import Environment as PlayedEnvironment
from carryover.tasks.agent.family import Score
from carryover.tasks.agent.own_contracts import lesson_of, script_of
from carryover.tasks.agent.protocol import CountTokens
from carryover.tasks.agent.scripted import VariedModel
from carryover.tasks.families.family import Environment, Family
from carryover.tasks.families.problem import Problem
from carryover.tasks.families.teacher import family_teacher
from carryover.tasks.runtime.contract import Contract, as_contract
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.source_digest import canonical_json
from carryover.tasks.traces.rows import InstanceRow, ItemRow
from carryover.tasks.traces.vocabulary import ContractName, Split

_FRESH = "Every block runs in a fresh environment"
_KEPT = "Names stay defined after every block"


class OwnFamily:
    """Plays an author's `Family` in the study's machine."""

    def __init__(self, name: str, family: Family) -> None:
        self.name = name
        """Name in rows."""
        self.family = family

    @property
    def known_names(self) -> tuple[str, ...]:
        """Names that a contract with injection binds."""
        return tuple(self.family.known)

    def sample(self, bucket: str, seed: int) -> Problem:
        """Return the instance of a seed, or raise `UserError`.

        The bucket may be unknown, or the content no JSON.
        """
        if bucket not in self.family.buckets:
            raise UserError(
                f"family {self.name} has no bucket {bucket!r}; choose from {', '.join(self.family.buckets)}"
            )
        content = self.family.sample(bucket, seed)
        try:
            _check_keys(content)
            text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UserError(f"family {self.name}, seed {seed}: sample() must return JSON values: {error}") from error
        return Problem(family=self.name, bucket=bucket, seed=seed, content_json=text)

    def validate(self, instance: Problem) -> None:
        """Raise `UserError` unless the reference solution scores 1 and doing nothing 0."""
        place = f"family {self.name}, seed {instance.seed}"
        idle = self.family.open(instance.content).score()
        if idle != 0:
            raise UserError(f"{place}: doing nothing scores {idle}, not 0; score what the agent has achieved")
        environment = self.family.open(instance.content)
        self.family.solve(instance.content, environment.tools)
        reached = environment.score()
        if reached != 1:
            raise UserError(f"{place}: the reference solution scores {reached}, not 1; mend solve() or score()")

    def rows(self, instance: Problem, run_id: str, split: Split) -> tuple[InstanceRow, list[ItemRow]]:
        """Return an instance as rows of the warehouse; it has no items."""
        described = {
            "family": self.name,
            "bucket": instance.bucket,
            "tools": list(self._tools_of(instance)),
            "known": self.known_names,
        }
        row = InstanceRow(
            run_id=run_id,
            instance_id=instance.instance_id,
            split=split,
            family=self.name,
            bucket=instance.bucket,
            task_id=f"{self.name}-{instance.seed:010d}",
            seed=instance.seed,
            spec_json=canonical_json(described),
            content_json=instance.content_json,
        )
        return row, []

    def instance_of_row(self, row: Mapping[str, Any]) -> Problem:
        """Return the instance of a row of the warehouse."""
        return Problem(
            family=self.name, bucket=row["bucket"], seed=row["seed"], content_json=row["content_json"] or "null"
        )

    def open(self, instance: Problem) -> PlayedEnvironment:
        """Return the world of a new episode."""
        return _Played(self.family.open(instance.content))

    def prompts(self, prompt_set: str) -> Mapping[str, str]:
        """Return goal, tools, and the texts of contracts with injection, by name."""
        texts = self._task_texts(prompt_set)
        if not self.known_names:
            return texts
        bound = "; ".join(f"`{name}`, {meaning}" for name, meaning in self.family.known.items())
        before = f"Before each block these names are bound to what is known by then: {bound}."
        fresh = f"Runtime: {ContractName.INJECTED.upper()}. {_FRESH}. {before}"
        kept = f"Runtime: INJECTED, PERSISTENT. {_KEPT}. {before}"
        return {
            **texts,
            f"runtime_{ContractName.INJECTED}": fresh,
            f"runtime_{ContractName.INJECTED_PERSISTENT}": kept,
        }

    def goal_values(self, instance: Problem) -> Mapping[str, str]:
        """Return the goal's text: all that the model may know."""
        goal = self.family.goal(instance.content)
        if self.family.tools_vary:
            goal = f"{goal}\n\n{_documented(self._tools_of(instance))}"
        return {"goal": goal}

    def usual_tool_call_cap(self, instance: Problem) -> int | None:
        """Return the cap under which the family's models are trained."""
        return self.family.tool_call_cap

    def open_teacher(
        self,
        bucket: str,
        contract: str | Contract,
        count_tokens: CountTokens | None = None,
        *,
        prints_table: bool = True,
        habits: Mapping[str, tuple[str | int, ...]] | None = None,
    ) -> VariedModel:
        """Return the scripted teacher, or raise `ValueError` without one.

        The lesson is the contract's own, if `taught` names it; otherwise its script's.
        """
        definition = as_contract(contract)
        lesson = lesson_of(definition, self.family.taught)
        if lesson is None:
            choices = ", ".join(self.family.taught) or "none"
            raise ValueError(f"family {self.name} has no teacher for contract {definition.name!r}; it has {choices}")
        script = script_of(definition)
        kept_blocks = script.kept_blocks
        if script.contract in (ContractName.STATELESS, ContractName.INJECTED):
            kept_blocks = 0
        return family_teacher(self.family, lesson, count_tokens, kept_blocks=kept_blocks)

    def _task_texts(self, prompt_set: str) -> dict[str, str]:
        """Return goal and tools; where tools vary, goals document them."""
        if self.family.tools_vary:
            return {"goal": "$goal", "tools": "$cap_sentence"}
        documented = _documented(self._tools).replace("$", "$$")
        goal = "$goal"
        if prompt_set != "full":
            goal = f"$goal Tools: {', '.join(self._tools)}."
        return {"goal": goal, "tools": f"{documented}\n$cap_sentence"}

    @cached_property
    def _tools(self) -> Mapping[str, Callable[..., Any]]:
        return self._tools_of(self.sample(self.family.buckets[0], 0))

    def _tools_of(self, instance: Problem) -> Mapping[str, Callable[..., Any]]:
        return self.family.open(instance.content).tools


class _Played:
    """An author's environment behind the machine's protocol."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.tools = environment.tools

    @property
    def is_over(self) -> bool:
        return self._environment.is_over

    def known(self) -> dict[str, Any]:
        return dict(self._environment.known())

    def score(self) -> Score:
        reached = float(self._environment.score())
        return Score(reached, is_solved=reached >= 1, metrics=self._environment.metrics())


def _check_keys(content: object) -> None:
    """Raise `TypeError` for a key that JSON would turn into text."""
    if isinstance(content, dict):
        for key, value in content.items():
            if not isinstance(key, str):
                raise TypeError(f"key {key!r} is no text; write str(key)")
            _check_keys(value)
    elif isinstance(content, list | tuple):
        for value in content:
            _check_keys(value)


def _documented(tools: Mapping[str, Callable[..., Any]]) -> str:
    """Return the tools as documented stubs."""
    stubs = []
    for name, tool in tools.items():
        lines = (inspect.getdoc(tool) or name).splitlines()
        document = "\n".join(f"    {line}".rstrip() for line in lines)
        ending = '"""' if len(lines) == 1 else '\n    """'
        stubs.append(f'def {name}{inspect.signature(tool)}:\n    """{document.strip()}{ending}')
    text = "\n\n\n".join(stubs)
    return (
        f"Tools that you can call inside a block:\n\n```python\n{text}\n```\n\nA tool that fails raises an exception."
    )
