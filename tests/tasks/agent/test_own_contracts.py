"""Contracts of one's own: the script that plays them, and what a prompt says about them."""

import asyncio

import pytest

from carryover.tasks.agent.episode import PlannedEpisode, run_episode
from carryover.tasks.agent.episode_spec import EpisodeSpec
from carryover.tasks.agent.own_contracts import describe_contract, lesson_of, own_texts, script_of
from carryover.tasks.knapsack.family import KNAPSACK_FAMILY
from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.sampling import sample_instance
from carryover.tasks.knapsack.teachers.habits import VARIED
from carryover.tasks.runtime.contract import CONTRACTS, Contract, named_contract
from tests.tasks.agent.playing import Model, block, make_condition, make_context, play

FILES = Contract(name="files", lifetime="block", keeps_files=True)
LIVE = Contract(name="live", lifetime="recent:2", binds="environment")


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_shipped_contract_has_its_own_script(name):
    assert script_of(CONTRACTS[name]) == (name, None)


@pytest.mark.parametrize(
    ("contract", "script"),
    [
        (named_contract("recent-3"), ("persistent", 3)),
        (named_contract("functions"), ("stateless", None)),
        (FILES, ("stateless", None)),
        (LIVE, ("injected", None)),
        (Contract(name="all", lifetime="episode", binds="environment"), ("injected+persistent", None)),
    ],
)
def test_the_script_counts_on_what_the_contract_keeps(contract, script):
    assert script_of(contract) == script


@pytest.mark.parametrize(
    ("taught", "lesson"), [(("stateless", "files"), "files"), (("stateless",), "stateless"), (("persistent",), None)]
)
def test_a_lesson_is_the_contracts_own_or_its_scripts(taught, lesson):
    assert lesson_of(FILES, taught) == lesson


NAMES_KEPT = "Names stay defined after every block; reuse them."
NOTHING_KEPT = "Every block runs in a fresh environment; define what you need again."
FUNCTIONS_KEPT = "Functions and classes stay defined after every block; define all else again."
FOR_A_WHILE = "A name that a block binds stays defined for {}; bind it again to keep it longer."


@pytest.mark.parametrize(
    ("contract", "known_names", "told"),
    [
        (Contract(name="all", lifetime="episode"), ("seen",), f"Runtime: ALL. {NAMES_KEPT}"),
        (named_contract("functions"), (), f"Runtime: FUNCTIONS. {FUNCTIONS_KEPT}"),
        (named_contract("recent-1"), (), f"Runtime: RECENT-1. {FOR_A_WHILE.format('the next block')}"),
        (named_contract("recent-2"), (), f"Runtime: RECENT-2. {FOR_A_WHILE.format('the next 2 blocks')}"),
        (FILES, ("seen",), f"Runtime: FILES. {NOTHING_KEPT} Files stay after every block."),
        (
            Contract(name="clean", lifetime="block", keeps_files=False),
            (),
            f"Runtime: CLEAN. {NOTHING_KEPT} Files are gone after every block.",
        ),
        (LIVE, (), f"Runtime: LIVE. {FOR_A_WHILE.format('the next 2 blocks')}"),
        (
            LIVE,
            ("seen", "room"),
            f"Runtime: LIVE. {FOR_A_WHILE.format('the next 2 blocks')} "
            "Before each block these names are bound anew: seen, room.",
        ),
    ],
)
def test_a_contract_is_told_by_what_it_keeps(contract, known_names, told):
    assert describe_contract(contract, known_names) == told


def test_words_of_ones_own_replace_the_description():
    told = FILES.model_copy(update={"words": "Write files."})
    assert own_texts(told, {}, ()) == {"runtime_files": "Write files."}
    assert own_texts(told, {"runtime_files": "There."}, ()) == {}


def test_the_full_set_demonstrates_the_script_of_a_contract():
    shown = {"demonstrations_persistent": "Reuse names.", "demonstrations_stateless": "Define names."}
    recent = named_contract("recent-3")
    assert own_texts(recent, shown, ()) == {
        "runtime_recent-3": describe_contract(recent, ()),
        "demonstrations_recent-3": "Reuse names.",
    }


def play_small(runtime, contract, *, seed=1, habits=None):
    """Return an episode of the small teacher of a contract."""
    instance = sample_instance(KNAPSACK["small"], seed)
    name = contract if isinstance(contract, str) else contract.name
    own = () if isinstance(contract, str) else (contract,)
    teacher = KNAPSACK_FAMILY.open_teacher("small", contract, habits=habits)
    condition = make_condition(name, bucket="small", own_contracts=own)
    spec = EpisodeSpec(prompt_set="compact", max_turns=40, tool_call_cap=None)
    return asyncio.run(run_episode(make_context(runtime, teacher, condition, spec=spec), PlannedEpisode(instance)))


@pytest.mark.parametrize("contract", ["recent-1", "recent-3", "functions", FILES])
def test_a_contract_of_ones_own_reaches_the_persistent_score(runtime, contract):
    theirs = play_small(runtime, "persistent").episode
    recorded = play_small(runtime, contract)
    assert not [error for error in recorded.errors if not error.is_caught]
    ours = recorded.episode
    assert (ours.score, ours.turn_count, ours.finish_reason) == (theirs.score, theirs.turn_count, "finish_tool")


def test_injected_objects_serve_a_contract_of_ones_own(runtime):
    recorded = play_small(runtime, LIVE)
    assert not [error for error in recorded.errors if not error.is_caught]
    assert recorded.episode.finish_reason == "finish_tool"
    assert recorded.episode.score == play_small(runtime, "injected").episode.score
    assert "seen" in recorded.steps[1].code


@pytest.mark.parametrize("seed", range(8))
def test_varied_habits_miss_no_name_under_a_short_lifetime(runtime, seed):
    recorded = play_small(runtime, "recent-1", seed=seed, habits=VARIED)
    assert not [error for error in recorded.errors if not error.is_caught]


@pytest.mark.parametrize(("contract", "period"), [("recent-1", 2), ("recent-3", 4)])
def test_the_script_lists_again_when_names_have_ended(runtime, contract, period):
    recorded = play_small(runtime, contract)
    lists = ["list_items" in step.code for step in recorded.steps]
    assert lists == [place % period == 0 for place in range(len(lists))]


def test_a_contract_of_ones_own_keeps_its_scope(runtime):
    users = Contract(name="users", lifetime="block", scope="namespace")
    model = Model(block("import sys\nsys.kept = 1\nx = 1"), block("import sys\nsys.kept\nx"), block("finish()"))
    recorded = play(runtime, model, condition=make_condition("users", own_contracts=(users,)))
    assert "name 'x' is not defined" in (recorded.steps[1].error or "")
    assert '"scope":"namespace"' in (recorded.episode.contract_json or "")


def test_a_definition_tells_conditions_of_one_name_apart(runtime):
    model = Model(block("x = 1"), block("x"), block("finish()"))
    kept = make_condition("mine", own_contracts=(Contract(name="mine", lifetime="episode"),))
    lost = make_condition("mine", own_contracts=(Contract(name="mine", lifetime="block"),))
    ours = play(runtime, model, condition=kept)
    theirs = play(runtime, Model(block("x = 1"), block("x"), block("finish()")), condition=lost)
    assert [step.error_type for step in ours.steps] == [None, None, None]
    assert [step.error_type for step in theirs.steps] == [None, "NameError", None]
    assert ours.episode.episode_id != theirs.episode.episode_id
    assert '"lifetime":"episode","name":"mine"' in (ours.episode.contract_json or "")
