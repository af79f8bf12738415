"""Muon for matrices and AdamW for the rest, as one optimizer."""

from typing import TYPE_CHECKING, Any

from carryover.tasks.sft.training_spec import OptimizerSpec

if TYPE_CHECKING:
    import torch

MUON_MOMENTUM = 0.95


def muon_with_adamw(model: "torch.nn.Module", spec: OptimizerSpec) -> "torch.optim.Optimizer":
    """Return an optimizer over trainable parameters, in two groups.

    Embeddings and the output head are matrices too, but rows of tables: Muon's orthogonal steps suit maps.
    """
    import torch

    class MuonWithAdamW(torch.optim.Optimizer):
        """Two optimizers that share groups and state.

        Schedules and checkpoints see a single one.
        """

        def __init__(self, matrices: list[torch.nn.Parameter], others: list[torch.nn.Parameter]) -> None:
            super().__init__([{"params": matrices}, {"params": others}], {})
            decay = spec.weight_decay
            betas = (spec.beta1, spec.beta2)
            matrices_group = self.param_groups[:1]
            others_group = self.param_groups[1:]
            self.muon = torch.optim.Muon(
                matrices_group, lr=spec.matrix_learning_rate, momentum=MUON_MOMENTUM, weight_decay=decay
            )
            self.adamw = torch.optim.AdamW(others_group, lr=spec.learning_rate, betas=betas, weight_decay=decay)
            self._share()

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            super().load_state_dict(state_dict)
            self._share()

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            self.muon.step()
            self.adamw.step()

        def _share(self) -> None:
            self.muon.state = self.adamw.state = self.state
            self.muon.param_groups, self.adamw.param_groups = self.param_groups[:1], self.param_groups[1:]

    matrices = []
    others = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            is_map = parameter.ndim == 2 and "embed_tokens" not in name and "lm_head" not in name
            (matrices if is_map else others).append(parameter)
    return MuonWithAdamW(matrices, others)
