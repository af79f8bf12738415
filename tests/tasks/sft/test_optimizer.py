"""Muon and AdamW as one optimizer."""

import copy

import pytest

from carryover.tasks.sft.optimizer import MUON_MOMENTUM, muon_with_adamw
from carryover.tasks.sft.training_spec import OptimizerSpec

SPEC = OptimizerSpec(kind="muon", learning_rate=3e-3, matrix_learning_rate=0.02, beta2=0.95, weight_decay=0.01)


def _model():
    """A table, a map, a norm and a frozen map."""
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed_tokens = torch.nn.Embedding(5, 4)
            self.q_proj = torch.nn.Linear(4, 4, bias=False)
            self.norm = torch.nn.LayerNorm(4)
            self.frozen = torch.nn.Linear(4, 4, bias=False).requires_grad_(False)

        def loss(self):
            return self.norm(self.q_proj(self.embed_tokens.weight)).pow(3).sum()

    torch.manual_seed(0)
    return Model()


def _is_same(one, other):
    import torch

    return all(torch.equal(value, other[name]) for name, value in one.items())


def _steps(model, optimizer, count):
    for _ in range(count):
        model.loss().backward()
        optimizer.step()
        optimizer.zero_grad()


def test_only_maps_are_muons_and_frozen_weights_nobodys():
    model = _model()
    matrices, others = (group["params"] for group in muon_with_adamw(model, SPEC).param_groups)
    assert [id(each) for each in matrices] == [id(model.q_proj.weight)]
    assert {id(each) for each in others} == {id(each) for each in (model.embed_tokens.weight, *model.norm.parameters())}


def test_a_step_is_that_of_the_two_optimizers():
    import torch

    ours, separate = _model(), _model()
    _steps(ours, muon_with_adamw(ours, SPEC), 3)
    muon = torch.optim.Muon([separate.q_proj.weight], lr=0.02, momentum=MUON_MOMENTUM, weight_decay=0.01)
    others = [separate.embed_tokens.weight, *separate.norm.parameters()]
    adamw = torch.optim.AdamW(others, lr=3e-3, betas=(0.9, 0.95), weight_decay=0.01)
    for _ in range(3):
        separate.loss().backward()
        muon.step()
        adamw.step()
        muon.zero_grad()
        adamw.zero_grad()
    assert _is_same(separate.state_dict(), ours.state_dict())


def test_a_schedule_moves_both_rates():
    import torch

    model = _model()
    optimizer = muon_with_adamw(model, SPEC)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    _steps(model, optimizer, 1)
    schedule.step()
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([0.01, 1.5e-3])
    before = copy.deepcopy(model.state_dict())
    optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = 0.0
    _steps(model, optimizer, 1)
    assert _is_same(model.state_dict(), before)


def test_a_saved_state_goes_on_where_it_stopped():
    unbroken, broken = _model(), _model()
    _steps(unbroken, muon_with_adamw(unbroken, SPEC), 4)
    first = muon_with_adamw(broken, SPEC)
    _steps(broken, first, 2)
    second = muon_with_adamw(broken, SPEC)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    _steps(broken, second, 2)
    assert _is_same(unbroken.state_dict(), broken.state_dict())
