"""What a model declares and when it may run."""

from datetime import UTC, datetime
from typing import Any

import pytest

from carryover.tasks.services.errors import UserError
from carryover.tasks.sft.card import (
    ContractMismatchError,
    ContractMismatchWarning,
    ModelCard,
    load_for_runtime,
    read_card,
    write_card,
)
from carryover.tasks.sft.training_spec import TRAINING


def _card(contract: str | None = "persistent", **changes: Any) -> ModelCard:
    fields = {
        "contract": contract, "kind": "checkpoint", "base_model": "untrained", "spec": TRAINING["smoke"], "seed": 7,
        "plan_digest": "plan", "dataset_digest": "abc", "example_count": 3, "model_digest": "def",
        "parameter_count": 23168, "trained_parameter_count": 23168, "token_count": 55872, "step_count": 20,
        "final_loss": 4.66852, "validation_loss": None, "device": "cpu", "attention": "sdpa", "wall_seconds": 2.0,
        "started_at": datetime(2026, 1, 1, tzinfo=UTC), "metrics": (),
    }  # fmt: skip
    return ModelCard.model_validate(fields | changes)


def test_a_card_is_read_as_it_was_written(tmp_path):
    write_card(tmp_path, _card())
    assert read_card(tmp_path) == _card()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "carryover.json"]


README = """\
---
library_name: "transformers"
tags: ["carryover"]
---
# persistent checkpoint

Declared contract: **persistent**. Under another one its code assumes the wrong lifetime of bindings.

| | |
|---|---|
| base | untrained |
| training | smoke (full), seed 7 |
| plan | plan |
| dataset | 3 conversations, sha256 abc |
| parameters | 23,168, trained 23,168 |
| tokens seen | 55,872 in 20 steps |
| final loss | 4.6685 |
| validation loss | - |
| tensors | sha256 def |
| trained on | cpu, sdpa, 2 s |
| not repeated to the bit | not looked for: the same processor with as many threads repeats a training |
"""


def test_the_card_says_contract_data_plan_and_metrics_in_words(tmp_path):
    write_card(tmp_path, _card())
    assert (tmp_path / "README.md").read_text() == README
    assert (tmp_path / "carryover.json").read_text() == _card().model_dump_json(indent=2) + "\n"


def test_the_card_of_an_adapter_names_its_base(tmp_path):
    changes = {"kind": "adapter", "base_model": "some/base", "plan_digest": None, "validation_loss": 4.5}
    write_card(tmp_path, _card(None, **changes))
    assert (tmp_path / "README.md").read_text() == (
        README.replace('"transformers"', '"peft"')
        .replace('["carryover"]\n', '["carryover"]\nbase_model: "some/base"\n')
        .replace("# persistent checkpoint", "# base adapter")
        .replace("**persistent**. Under another one its code assumes the wrong lifetime of bindings.", "**none**.")
        .replace("untrained", "some/base")
        .replace("| plan | plan |", "| plan | - |")
        .replace("| validation loss | - |", "| validation loss | 4.5000 |")
    )


def test_the_card_names_operations_that_do_not_repeat(tmp_path):
    for operations, said in (
        (("index_add_cuda_", "Flash Attention"), "index_add_cuda_, Flash Attention"),
        ((), "torch names no operation"),
        (None, "not looked for: the same processor with as many threads repeats a training"),
    ):
        write_card(tmp_path, _card(varying_operations=operations))
        assert f"| not repeated to the bit | {said} |" in (tmp_path / "README.md").read_text()


def test_the_card_names_the_commit_of_a_pinned_base(tmp_path):
    spec = TRAINING["paper"]
    for revision, said in (
        (None, "| base | Qwen/Qwen3-8B |"),
        ("b968826", "| base | Qwen/Qwen3-8B at commit b968826 |"),
    ):
        pinned = spec.model_copy(update={"base_revision": revision})
        write_card(tmp_path, _card(base_model="Qwen/Qwen3-8B", spec=pinned))
        assert said in (tmp_path / "README.md").read_text()


def test_models_run_under_their_contract_and_bases_under_any(tmp_path):
    write_card(tmp_path, _card())
    assert load_for_runtime(tmp_path, "persistent").contract == "persistent"
    write_card(tmp_path, _card(contract=None))
    assert load_for_runtime(tmp_path, "stateless").contract is None


def test_another_contract_is_refused_by_name(tmp_path):
    write_card(tmp_path, _card())
    with pytest.raises(ContractMismatchError, match="trained on the persistent contract, the runtime is stateless"):
        load_for_runtime(tmp_path, "stateless")


def test_a_cross_evaluation_warns_by_name(tmp_path):
    write_card(tmp_path, _card())
    with pytest.warns(ContractMismatchWarning, match="trained on the persistent contract, the runtime is stateless"):
        assert load_for_runtime(tmp_path, "stateless", is_cross_evaluation=True).seed == 7


def test_a_folder_without_a_readable_card_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"has no carryover.json"):
        read_card(tmp_path)
    (tmp_path / "carryover.json").write_text("{}")
    with pytest.raises(UserError, match="not a model card of this version"):
        read_card(tmp_path)
