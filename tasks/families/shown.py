"""Opening messages of a family's episode, as an agent reads them."""

from collections.abc import Iterator
from typing import get_args

from carryover.tasks.agent.condition import Condition
from carryover.tasks.agent.episode_spec import EpisodeSpec, PromptSet
from carryover.tasks.agent.prompt_format import Opening, open_wire, read_prompts
from carryover.tasks.agent.study_speaker import StudySpeaker
from carryover.tasks.families.choose import open_own_family
from carryover.tasks.traces.vocabulary import ContractName


def shown_prompts(wanted: str, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield a title and the opening messages of one instance, per prompt set.

    They are those of a persistent runtime; other contracts replace its sentences. Raise `UserError` where there is no
    such family.
    """
    own = open_own_family(wanted)
    problem = own.sample(own.family.buckets[0], seed)
    for prompt_set in get_args(PromptSet):
        environment = own.open(problem)
        spec = EpisodeSpec(prompt_set=prompt_set, tool_call_cap=own.family.tool_call_cap)
        opening = Opening(
            goal_values=own.goal_values(problem),
            contract=ContractName.PERSISTENT,
            tool_count=len(environment.tools),
            tool_call_cap=spec.tool_call_cap,
            usual_tool_call_cap=own.usual_tool_call_cap(problem),
        )
        condition = Condition(
            purpose="evaluation",
            model_name="any",
            runtime_contract=ContractName.PERSISTENT,
            bucket=problem.bucket,
            split="evaluation",
        )
        wire = open_wire(prompt_set, read_prompts(prompt_set, own.prompts(prompt_set)))
        speaker = StudySpeaker(condition, spec, environment, wire, opening, instance_id=problem.instance_id)
        messages = "\n\n".join(f"[{message.role}]\n{message.content}" for message in speaker.messages)
        yield f"{prompt_set} prompts, bucket {problem.bucket}, seed {seed}, persistent", messages
