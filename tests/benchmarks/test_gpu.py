import pytest

from tests.benchmarks.gpu import peak_flops, utilisation_in_words


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA H200", 989e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA GeForce RTX 9999", None),
    ],
)
def test_a_device_s_peak_is_its_own_or_unknown(name, peak):
    assert peak_flops(name) == peak


def test_utilisation_is_a_share_of_the_device_s_peak():
    assert utilisation_in_words(98.9e12, peak_flops("NVIDIA H200")) == "model-flops utilisation 10.0%"
    assert utilisation_in_words(98.9e12, peak_flops("another")) == "unknown device: no utilisation"
