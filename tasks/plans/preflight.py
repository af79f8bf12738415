"""What a plan needs and this machine lacks, said before any work starts."""

import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from tasks.plans.spec import StudyPart, StudyPlan
from tasks.running.environment import gpu_name
from tasks.running.errors import UserError

HUB_URL = "https://huggingface.co"
PROBE_SECONDS = 5.0


def check_needs(plan: StudyPlan, has_gpu_worker: Callable[[], bool]) -> None:
    """Return when the plan can run here.

    Args:
        plan: The resolved plan.
        has_gpu_worker: Tells whether a worker is online on the work pool `gpu`; asked only where no GPU is found.

    Raises:
        UserError: Something is missing; one line names all of it.
    """
    missing = list(dict.fromkeys(need for part in plan.parts for need in _missing(plan, part, has_gpu_worker)))
    if missing:
        raise UserError(f"{plan.name} scale needs what is not here: {'; '.join(missing)}")


def _missing(plan: StudyPlan, part: StudyPart, has_gpu_worker: Callable[[], bool]) -> Iterator[str]:
    if part.training.method == "qlora" and gpu_name() is None and not has_gpu_worker():
        yield "a GPU, or an online worker on the work pool 'gpu'"
    model = part.training.base_model
    if model is not None and not _has_model(model):
        yield f"the model {model} (download it, or name its folder with --base-model)"
    if plan.serving.engine == "vllm" and shutil.which("vllm") is None:
        yield "vllm (pip install 'carryover[gpu]', or name a running server with --endpoint-url)"
    if plan.serving.url is not None and not _answers(f"{plan.serving.url.rstrip('/')}/models"):
        yield f"an answer from the endpoint {plan.serving.url}"
    endpoint = part.teacher.endpoint
    if endpoint is not None:
        if endpoint.api_key_variable is not None and not os.environ.get(endpoint.api_key_variable):
            yield f"the teacher's key in the environment variable {endpoint.api_key_variable}"
        elif not _answers(endpoint.base_url):
            yield f"an answer from the teacher's endpoint {endpoint.base_url}"


def _has_model(model: str) -> bool:
    """Tell whether a model is a folder here, in the hub's local cache, or on a hub that answers."""
    if Path(model).is_dir():
        return True
    from huggingface_hub import try_to_load_from_cache

    is_cached = isinstance(try_to_load_from_cache(model, "config.json"), str)
    return is_cached or _answers(f"{HUB_URL}/{model}/resolve/main/config.json")


def _answers(url: str) -> bool:
    """Tell whether anything answers at an address, an error status included: it is there, and asks for a key."""
    try:
        with urllib.request.urlopen(url, timeout=PROBE_SECONDS):
            return True
    except urllib.error.HTTPError:
        return True
    except (urllib.error.URLError, OSError, ValueError):
        return False
