"""CaveAgent's studies as a flow (arXiv 2601.01569, section 4)."""

from itertools import product

from prefect.futures import wait

from carryover.flows.cli.messages import say
from carryover.flows.prefect_flow import flow
from carryover.tasks.cave.arms.plan import SuitePlan
from carryover.tasks.play_cases import play_suite
from carryover.tasks.stages.comparisons import merge_comparison, open_comparison
from carryover.tasks.train_arms import prepare_lessons, served_plans, train_arm


@flow("arms")
def compare_arms(plan: SuitePlan = SuitePlan()) -> None:  # noqa: B008 - frozen
    """Play suites under six arms: endpoint, trained small models or oracle.

    What has landed is not played again.

    Args:
        plan: Suites, arms, model, endpoint and budgets.
    """
    trained = {}
    if plan.is_trained:
        prepared = prepare_lessons(plan.case_seed)
        training = {arm: train_arm.submit(arm, prepared) for arm in plan.arms}
        trained = {arm: future.result() for arm, future in training.items()}
    else:
        plan.open_client()  # refuses a model without an endpoint before anything is played
    with open_comparison(plan) as run_id, served_plans(plan, trained) as plans:
        pairs = product(plan.suites, plan.arms)
        played = [play_suite.submit(plans[arm], suite, arm, run_id) for suite, arm in pairs]
        wait(played)
        counts = [future.result() for future in played]
    merge_comparison(run_id)
    say(f"{sum(count.played for count in counts)} episodes played; `carryover cave tables` shows them")
    if failed := sum(count.failed for count in counts):
        say(f"{failed} ended with an error and do not count; the same command plays them again")
