"""The Opaque Knapsack as a task family, for episodes and studies."""

from collections.abc import Mapping
from typing import Any

from carryover.tasks.agent.own_contracts import script_of
from carryover.tasks.agent.protocol import CountTokens, ModelClient
from carryover.tasks.agent.scripted import VariedModel
from carryover.tasks.knapsack.environment import KNOWN_NAMES, KnapsackEnvironment
from carryover.tasks.knapsack.goal import goal_values, knapsack_prompts
from carryover.tasks.knapsack.instance import Instance, instance_of_row, instance_rows
from carryover.tasks.knapsack.knapsack_spec import open_bucket
from carryover.tasks.knapsack.sampling import sample_instance, validate
from carryover.tasks.knapsack.teachers.open import fixed_habits, open_teacher, open_varied_teacher
from carryover.tasks.runtime.contract import Contract, as_contract
from carryover.tasks.traces.rows import InstanceRow, ItemRow
from carryover.tasks.traces.vocabulary import PAPER_FAMILY, Split


class Knapsack:
    """The study's family (arXiv 2603.01209, section 3)."""

    name = PAPER_FAMILY
    known_names = KNOWN_NAMES

    def sample(self, bucket: str, seed: int) -> Instance:
        """Return the instance of a seed."""
        return sample_instance(open_bucket(bucket), seed)

    def validate(self, instance: Instance) -> None:
        """Raise `UserError` unless the stored optimum scores 1."""
        validate(instance)

    def rows(self, instance: Instance, run_id: str, split: Split) -> tuple[InstanceRow, list[ItemRow]]:
        """Return an instance and its items as rows of the warehouse."""
        return instance_rows(instance, run_id, split)

    def instance_of_row(self, row: Mapping[str, Any]) -> Instance:
        """Return the instance of a warehouse row with its items."""
        return instance_of_row(row)

    def open(self, instance: Instance) -> KnapsackEnvironment:
        """Return the world of a new episode."""
        return KnapsackEnvironment(instance)

    def prompts(self, prompt_set: str) -> Mapping[str, str]:
        """Return goal, tools, and the texts of contracts with injection, by name."""
        return knapsack_prompts(prompt_set)

    def goal_values(self, instance: Instance) -> Mapping[str, object]:
        """Return capacity, budget and the classes of an instance."""
        return goal_values(instance)

    def usual_tool_call_cap(self, instance: Instance) -> int | None:
        """Return the cap of the instance's bucket, as in training."""
        return instance.spec.tool_call_cap

    def open_teacher(
        self,
        bucket: str,
        contract: str | Contract,
        count_tokens: CountTokens | None = None,
        *,
        prints_table: bool = True,
        habits: Mapping[str, tuple[str | int, ...]] | None = None,
    ) -> ModelClient | VariedModel:
        """Return the scripted teacher; raise `ValueError` where there is none.

        Without `prints_table` a fixed stateless teacher of the small buckets prints its table's size only.
        """
        script = script_of(as_contract(contract))
        if habits is not None:
            return open_varied_teacher(bucket, script.contract, habits, count_tokens, kept_blocks=script.kept_blocks)
        if prints_table:
            return open_teacher(bucket, script.contract, count_tokens, kept_blocks=script.kept_blocks)
        sized = fixed_habits(bucket).model_copy(update={"shown": "size"})
        return open_teacher(bucket, script.contract, count_tokens, habits=sized, kept_blocks=script.kept_blocks)


KNAPSACK_FAMILY = Knapsack()
