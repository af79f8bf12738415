"""Tiny models on disk and in memory, made once."""

import pytest

from tests.tasks.serving.tiny import save_adapter, save_model
from tests.tasks.serving.vllm_environment import provide_vllm


@pytest.fixture(scope="session")
def torch():
    """Torch, imported by the tests that run and not by collecting them."""
    import torch

    return torch


@pytest.fixture(autouse=True)
def _one_thread_without_gradients(torch):
    """Compute on one thread, and leave to the tests after it as many as they had, whatever a test sets."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.no_grad():
        yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def base_path(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("models") / "base")


@pytest.fixture(scope="session")
def other_path(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("models") / "other", seed=1)


@pytest.fixture(scope="session")
def adapter_path(tmp_path_factory, base_path):
    return save_adapter(tmp_path_factory.mktemp("models") / "adapter", base_path, seed=2)


@pytest.fixture(scope="session")
def loaded(base_path):
    from carryover.tasks.serving.cpu.models import load_models
    from carryover.tasks.serving.serving_spec import ServedModels

    (model,) = load_models(ServedModels(base=str(base_path)))
    return model


@pytest.fixture(scope="session")
def reference(base_path):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(base_path).eval()


@pytest.fixture(scope="session")
def vllm_environment():
    """Environment variables with which our Python imports vLLM; tests that ask are left out where it cannot be had."""
    return provide_vllm()
