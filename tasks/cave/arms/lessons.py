"""Training data of an arm's small model: drills, and the oracle's conversations."""

import random

from carryover.tasks.cave.arms.arm import ARMS, ArmName
from carryover.tasks.cave.arms.case_environment import CaseEnvironment
from carryover.tasks.cave.arms.oracle import script
from carryover.tasks.cave.prompting import fill, system_prompt
from carryover.tasks.cave.suites.case import Case
from carryover.tasks.cave.suites.catalogue import SuiteName
from carryover.tasks.cave.suites.multi_variable import NAMES, multi_variable_cases
from carryover.tasks.datasets.conversations import Conversation
from carryover.tasks.runtime.describe import describe
from carryover.tasks.sft.training_spec import TRAINING, BatchSpec, TokenizerSpec
from carryover.tasks.traces.vocabulary import ContractName

LAPTOP = "laptop"
"""Model name of the small models trained here, one per arm."""
SUITE: SuiteName = "multi_variable"
LEARNING_ARMS: tuple[ArmName, ...] = ("persistent_code", "stateless_code")
TIERS = (5, 10, 15)
"""Tiers of the cases that are learnt; larger ones take longer to learn than a laptop should work."""
SEED_COUNT = 40
TURN_COUNT = 6
"""Seeds of five cases a tier: 600 conversations an arm, twice as long as a tested one."""
DRILL_COUNT = 3000
DRILL_TURNS = 8
"""Without drills a model writes every template and no name of the question: small ones learn late to copy."""
TRAINING_SPEC = TRAINING["laptop_scratch"].model_copy(
    update={
        "name": "cave_laptop",
        "tokenizer": TokenizerSpec(vocabulary_size=1024),
        "batch": BatchSpec(max_length=8192, packing=False, tokens=3500, accumulation=1),
        "validation_share": 0.0,
    }
)


def lesson(case: Case, arm_name: ArmName) -> Conversation:
    """Return the oracle's conversation under a code arm, without printed output."""
    arm = ARMS[arm_name]
    environment = CaseEnvironment(case, arm)
    keeps_names = arm.contract is ContractName.PERSISTENT
    objects = {**(case.world.variables if arm.is_injected else {}), **environment.functions()}
    entries = [describe(name, value, case.world.descriptions.get(name, "")) for name, value in objects.items()]
    feedback = "\n".join((fill("no_output"), fill("reminder" if keeps_names else "reminder_stateless")))
    replies = script(case, arm)
    texts = [system_prompt(entries, {}, environment.instructions(), keeps_names=keeps_names)]
    for turn, block, done in zip(case.turns, replies[::2], replies[1::2], strict=True):
        texts += [turn.question, block, feedback, done]
    roles = ["system", *("user", "assistant") * (len(texts) // 2)]
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    return Conversation.model_validate({"messages": messages})


def drill(random_source: random.Random) -> Conversation:
    """Return turns that ask for listed names and numbers as code."""
    messages = []
    for _ in range(DRILL_TURNS):
        listed = [
            (name, random_source.randrange(2, 40))
            for name in random_source.sample(NAMES, random_source.randrange(2, 7))
        ]
        question = "; ".join(f"`{name}` and {number}" for name, number in listed)
        code = "\n".join(f"{name} = {name} + {number}" for name, number in listed)
        messages.append({"role": "user", "content": f"Write {question}."})
        messages.append({"role": "assistant", "content": f"```python\n{code}\n```"})
    return Conversation.model_validate({"messages": messages})


def lessons(
    arm_name: ArmName, held_out_seed: int, *, seed_count: int = SEED_COUNT, drill_count: int = DRILL_COUNT
) -> list[Conversation]:
    """Return an arm's training data: drills, and cases of other seeds."""
    random_source = random.Random(held_out_seed)
    learnt = [drill(random_source) for _ in range(drill_count)]
    for seed in range(held_out_seed + 1, held_out_seed + 1 + seed_count):
        learnt += [lesson(case, arm_name) for case in multi_variable_cases(seed, TURN_COUNT, TIERS)]
    return learnt
