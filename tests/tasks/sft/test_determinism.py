"""A card says which operations of a training do not repeat to the bit."""

import warnings

import pytest

from carryover.tasks.sft.determinism import named_operation, watched_operations


def test_an_operation_without_deterministic_form_is_named_once():
    import torch

    values = torch.zeros(3)
    with watched_operations() as names:
        for _ in range(2):
            values.put_(torch.tensor([0, 0]), torch.tensor([1.0, 2.0]))
    assert names == ["put_"]


def test_deterministic_operations_are_not_named():
    import torch

    with watched_operations() as names:
        _ = torch.ones(3, 3) @ torch.ones(3, 3)
    assert names == []


def test_other_warnings_are_shown():
    with pytest.warns(UserWarning, match="something else"), watched_operations() as names:
        warnings.warn("something else", stacklevel=1)
    assert names == []


def test_settings_are_as_before_afterwards():
    import torch

    with pytest.raises(ZeroDivisionError), watched_operations():
        _ = 1 / 0
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.utils.deterministic.fill_uninitialized_memory  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("index_add_cuda_ does not have a deterministic implementation, but you set ...", "index_add_cuda_"),
        ("Flash Attention defaults to a non-deterministic algorithm. To explicitly ...", "Flash Attention"),
        ("Memory Efficient attention defaults to a non-deterministic algorithm. To ...", "Memory Efficient attention"),
        (
            "Deterministic behavior was enabled ... but this operation is not deterministic because it uses CuBLAS",
            "CuBLAS",
        ),
        ("`x` is deprecated", None),
    ],
)
def test_torch_s_words_name_the_operation(message, name):
    assert named_operation(message) == name
