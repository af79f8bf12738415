"""The clients of a plan: who answers for the teacher, and who for the trained models."""

from carryover.tasks.agent.client import ClientSpec, EndpointClientSpec, ScriptedClientSpec
from carryover.tasks.agent.spec import EndpointSpec
from carryover.tasks.plans.run import Run
from carryover.tasks.plans.spec import StudyPart


def teacher_client(run: Run, part: StudyPart) -> ClientSpec:
    """Return the teacher's client; responses of an endpoint are kept, so that no answer is paid for twice."""
    teacher = part.teacher
    if teacher.endpoint is None:
        return scripted_client(part)
    return EndpointClientSpec(endpoint=teacher.endpoint, cache=run.home / "teacher_responses")


def scripted_client(part: StudyPart) -> ClientSpec:
    """Return the client of a part's scripted policies."""
    return ScriptedClientSpec(prints_table=part.teacher.prints_table)


def evaluation_client(run: Run, base_url: str) -> ClientSpec:
    """Return the client of served models; their answers are never cached (arXiv 2603.01209, appendix E)."""
    serving = run.plan.serving
    endpoint = EndpointSpec(
        base_url=base_url, api_key_variable=serving.api_key_variable, concurrency=serving.max_concurrent
    )
    return EndpointClientSpec(endpoint=endpoint)
