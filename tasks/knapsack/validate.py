"""Checking an instance without a model: its reference solution must be playable and score 1."""

from carryover.tasks.knapsack.environment import KnapsackEnvironment, Outcome
from carryover.tasks.knapsack.instance import Instance
from carryover.tasks.knapsack.sampling import solve
from carryover.tasks.running.errors import UserError


def validate(instance: Instance) -> Outcome:
    """Replay the optimal set through the tools and return the outcome, which has score 1.

    Raises `UserError` when the stored optimum is not the exact one, does not fit the inspection budget, or
    does not score 1, and `ToolRuntimeException` when the environment refuses one of its items.
    """
    place, optimum, budget = f"instance {instance.instance_id}", instance.optimum, instance.inspection_budget
    exact = solve(instance.allowed_items, instance.capacity).value
    if exact != optimum.value:
        raise UserError(f"{place}: stored optimum {optimum.value}, exact optimum {exact}; sample it again")
    if (count := len(optimum.item_ids)) > budget:
        raise UserError(f"{place}: the optimal set has {count} items, more than the inspection budget of {budget}")
    environment = KnapsackEnvironment(instance)
    for item_id in optimum.item_ids:
        environment.inspect(item_id)
        environment.take_item(item_id)
    environment.finish()
    outcome = environment.outcome()
    if outcome.score != 1.0:
        raise UserError(f"{place}: replaying the optimal set scores {outcome.score}, not 1")
    return outcome
