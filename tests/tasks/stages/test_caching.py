"""When a stage is refreshed, and where its results are kept."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.context import TaskRunContext

from carryover import tasks
from carryover.tasks.generate import generate_instance_set
from carryover.tasks.plans.identity import Stage
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits, Run
from carryover.tasks.stages import caching
from carryover.tasks.stages.caching import StageIdentity, in_run, refreshing_once
from tests.flattening import flat

PLAN = resolve_plan("smoke")


def make_run(run_id, *refresh, landing="/data/landing"):
    return Run(
        run_id=run_id, plan=PLAN, home=Path("/data"), landing=landing, generation="g", limits=Limits(refresh=refresh)
    )


def test_a_result_is_refreshed_once_per_start():
    run = make_run("first", Stage.TOKENIZER, Stage.TRAINING)
    assert refreshing_once(run, Stage.TOKENIZER, "a") == run
    again = refreshing_once(run, Stage.TOKENIZER, "a")
    assert again.limits.refresh == (Stage.TRAINING,)
    assert refreshing_once(run, Stage.TOKENIZER, "b") == run
    assert refreshing_once(run, Stage.DATA, "a") == run
    other = make_run("second", Stage.TOKENIZER)
    assert refreshing_once(other, Stage.TOKENIZER, "a") == other


def test_stage_runs_again_on_request_or_without_its_result():
    run = make_run("third", Stage.INSTANCES)
    assert in_run(generate_instance_set, run, Stage.INSTANCES).refresh_cache
    assert not in_run(generate_instance_set, run, Stage.TRAINING).refresh_cache
    assert in_run(generate_instance_set, run, Stage.TRAINING, is_there=False).refresh_cache


def test_results_lie_with_the_landing_zone_or_in_the_data_folder(monkeypatch):
    saved = []

    class Storage:
        def __init__(self, basepath):
            self.basepath = basepath

        def save(self, name, *, overwrite):
            saved.append((self.basepath, name, overwrite))

    monkeypatch.setattr(caching, "RemoteFileSystem", Storage)

    def storage_of(landing):
        return in_run(generate_instance_set, make_run("r", landing=landing), Stage.INSTANCES).result_storage

    assert storage_of("/data/landing") == Path("/data/results")
    assert storage_of("/shared/landing") == Path("/shared/landing/objects/results")
    assert saved == []
    block = storage_of("s3://bucket/landing/")
    ((url, name, overwrite),) = saved
    assert (url, block, overwrite) == ("s3://bucket/landing/objects/results", f"remote-file-system/{name}", True)


def key_of(run: Run, identity: str = "identity") -> str:
    context = TaskRunContext.model_construct(task=generate_instance_set)
    policy = StageIdentity(identify=lambda run: identity)
    return policy.compute_key(context, {"run": run}, {})


def test_cache_key_changes_with_identity_landing_zone_and_generation():
    run = make_run("r")
    keys = [
        key_of(run),
        key_of(run, "other"),
        key_of(make_run("r", landing="/other/landing")),
        key_of(run.model_copy(update={"generation": "made anew"})),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of(make_run("another run")) == keys[0]


def every_task():
    modules = [import_module(f"carryover.tasks.{found.name}") for found in iter_modules(tasks.__path__)]
    return [value for value in flat(vars(module).values() for module in modules) if type(value) is Task]


def test_no_task_has_hooks():
    """Prefect writes two lines into a run's log for every call of a hook."""
    hooks = flat((task.on_completion_hooks, task.on_failure_hooks) for task in every_task())
    assert hooks
    assert not any(hooks)


def test_every_task_is_cached_by_its_stage_or_never():
    """Prefect's default policy would skip the second of two equal merges wherever results are persisted by default."""
    found = {task.name: task.cache_policy for task in every_task()}
    uncached = {name for name, policy in found.items() if policy is NO_CACHE}
    assert uncached == {
        "check_warehouse", "find_models", "judge_episodes", "merge_landing", "play_suite", "prepare_lessons",
        "train_arm",
    }  # fmt: skip
    assert all(isinstance(found[name], StageIdentity) for name in found.keys() - uncached)


def test_results_lie_with_the_rows_where_these_are_shared():
    stored = [
        in_run(generate_instance_set, make_run("r", landing=landing), Stage.INSTANCES).result_storage
        for landing in ("/data/landing", "/shared/landing")
    ]
    assert stored == [Path("/data/results"), Path("/shared/landing/objects/results")]


def test_a_stages_task_is_tagged_by_stage_and_contract():
    tasks_of = [
        in_run(generate_instance_set, make_run("r"), Stage.INSTANCES, contract=contract)
        for contract in (None, "persistent")
    ]
    assert [task.tags for task in tasks_of] == [{"stage:instances"}, {"stage:instances", "contract:persistent"}]
