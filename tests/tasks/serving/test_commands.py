import json
import subprocess
import sys
from pathlib import Path

import pytest
from jinja2 import Template

from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.commands import own_command, vllm_command, vllm_environment
from carryover.tasks.serving.cpu_server import parse_options
from carryover.tasks.serving.serving_spec import ServedModels, ServingSpec

ADAPTERS = {"persistent": Path("/models/p"), "stateless": Path("/models/s")}
PAPER = ServedModels(base="Qwen/Qwen3-8B", adapters=ADAPTERS)


def test_the_paper_is_served_by_one_vllm_with_both_adapters():
    command = vllm_command(ServingSpec(engine="vllm"), PAPER, host="127.0.0.1", port=8000)
    assert " ".join(command) == (
        "vllm serve Qwen/Qwen3-8B --served-model-name base --host 127.0.0.1 --port 8000 --max-model-len 40960 "
        '--max-num-seqs 4 --default-chat-template-kwargs {"enable_thinking": false} '
        "--lora-modules persistent=/models/p stateless=/models/s --dtype bfloat16 --gpu-memory-utilization 0.95 "
        "--tensor-parallel-size 1 --attention-backend FLASH_ATTN --seed 0 --enable-prompt-tokens-details "
        "--generation-config vllm "
        "--enable-lora --max-lora-rank 64 --max-loras 2"
    )


def test_vllm_kernels_are_batch_invariant_unless_switched_off():
    spec = ServingSpec(engine="vllm")
    assert vllm_environment(spec, {"A": "1"}) == {"A": "1", "VLLM_BATCH_INVARIANT": "1", "DO_NOT_TRACK": "1"}
    faster = spec.model_copy(update={"is_batch_invariant": False})
    assert vllm_environment(faster, {})["VLLM_BATCH_INVARIANT"] == "0"


@pytest.mark.parametrize(
    ("build", "flags"),
    [(vllm_command, ["--revision", "--tokenizer-revision"]), (own_command, ["--revision"])],
)
def test_a_hub_base_is_served_at_its_trained_commit(build, flags):
    pinned = PAPER.model_copy(update={"base_revision": "b968826"})
    command = build(ServingSpec(), pinned, host="127.0.0.1", port=8000)
    assert [flag for flag in command if "revision" in flag] == flags
    assert all(command[command.index(flag) + 1] == "b968826" for flag in flags)
    assert not [flag for flag in build(ServingSpec(), PAPER, host="127.0.0.1", port=8000) if "revision" in flag]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_vllm_takes_every_flag_that_we_build(tmp_path, vllm_environment):
    adapters = {name: tmp_path / name for name in ADAPTERS}
    for path in adapters.values():
        path.mkdir()
        (path / "chat_template.jinja").write_text("{{ messages }}")
    models = ServedModels(base="Qwen/Qwen3-8B", base_revision="b968826", adapters=adapters)
    spec = ServingSpec(engine="vllm", load_format="dummy")
    command = vllm_command(spec, models, host="127.0.0.1", port=8000)
    read = subprocess.run(
        [sys.executable, Path(__file__).with_name("vllm_parser.py"), *command[1:]],
        capture_output=True,
        text=True,
        env=vllm_environment,
        check=False,
    )
    assert read.returncode == 0, read.stderr
    given = json.loads(read.stdout.splitlines()[-1])
    assert {adapter["name"]: adapter["path"] for adapter in given.pop("lora_modules")} == {
        name: str(path) for name, path in adapters.items()
    }
    assert given == {
        "model_tag": "Qwen/Qwen3-8B",
        "served_model_name": ["base"],
        "revision": "b968826",
        "tokenizer_revision": "b968826",
        "host": "127.0.0.1",
        "port": 8000,
        "max_model_len": 40960,
        "max_num_seqs": 4,
        "default_chat_template_kwargs": {"enable_thinking": False},
        "chat_template": str(tmp_path / "persistent" / "chat_template.jinja"),
        "dtype": "bfloat16",
        "gpu_memory_utilization": 0.95,
        "tensor_parallel_size": 1,
        "attention_backend": "FLASH_ATTN",
        "seed": 0,
        "enable_prompt_tokens_details": True,
        "generation_config": "vllm",
        "enable_lora": True,
        "max_lora_rank": 64,
        "max_loras": 2,
        "load_format": "dummy",
    }


def test_a_base_alone_needs_no_adapter_flags():
    command = vllm_command(ServingSpec(engine="vllm"), ServedModels(base="m"), host="127.0.0.1", port=8000)
    assert not [flag for flag in command if "lora" in flag]


def test_vllm_takes_no_path_that_its_flag_cannot_carry():
    spec = ServingSpec(engine="vllm")
    with pytest.raises(UserError, match="'=' or ','"):
        vllm_command(spec, ServedModels(base="m", adapters={"a": Path("/run=1/a")}), host="h", port=1)


def test_adapters_are_served_with_their_training_chat_template(tmp_path):
    adapters = {name: tmp_path / name for name in ADAPTERS}
    for path in adapters.values():
        path.mkdir()
        (path / "chat_template.jinja").write_text("{{ messages }}")
    models = ServedModels(base="m", adapters=adapters)
    for build, spec in ((own_command, ServingSpec()), (vllm_command, ServingSpec(engine="vllm"))):
        command = build(spec, models, host="127.0.0.1", port=1)
        assert command[command.index("--chat-template") + 1] == str(tmp_path / "persistent" / "chat_template.jinja")
    either = vllm_command(
        ServingSpec(engine="vllm"), models, host="h", port=1, base_template="own", template_folder=tmp_path
    )
    template = Template(Path(either[either.index("--chat-template") + 1]).read_text())
    assert template.render(messages="trained", is_base=True) == "own"
    assert template.render(messages="trained") == "trained"
    (tmp_path / "stateless" / "chat_template.jinja").write_text("another")
    with pytest.raises(UserError, match="adapters persistent, stateless were trained with different chat templates"):
        own_command(ServingSpec(), models, host="127.0.0.1", port=1)


def test_our_server_serves_this_machine_by_default():
    assert vars(parse_options(["--model", "m"])) == {
        "model": "m",
        "revision": None,
        "served_model_name": None,
        "lora_modules": [],
        "checkpoints": [],
        "host": "127.0.0.1",
        "port": 8000,
        "max_model_len": None,
        "max_num_seqs": 128,
        "kv_cache_memory_bytes": 2 << 30,
        "chat_template": None,
        "default_chat_template_kwargs": {},
        "device": "cpu",
        "gpu_memory_utilization": 0.95,
        "threads": 1,
    }


def test_our_server_reads_what_we_write():
    changes = {"base_revision": "b968826", "checkpoints": {"whole": Path("/models/run=1/whole")}}
    models = PAPER.model_copy(update=changes)
    spec = ServingSpec(context_tokens=4096, max_concurrent=100, cpu_threads=2, cache_bytes=1000)
    command = own_command(spec, models, host="127.0.0.1", port=8000)
    assert command[:3] == [sys.executable, "-m", "carryover.tasks.serving.cpu_server"]
    options = parse_options(command[3:])
    assert (options.model, options.served_model_name, options.revision) == ("Qwen/Qwen3-8B", "base", "b968826")
    assert (dict(options.lora_modules), dict(options.checkpoints)) == (models.adapters, models.checkpoints)
    assert (options.host, options.port) == ("127.0.0.1", 8000)
    assert (options.max_model_len, options.max_num_seqs, options.threads) == (4096, 100, 2)
    assert options.kv_cache_memory_bytes == 1000
    assert options.chat_template is None
    assert options.default_chat_template_kwargs == {"enable_thinking": False}


def test_a_pair_without_a_path_is_refused(capsys):
    with pytest.raises(SystemExit):
        parse_options(["--model", "m", "--lora-modules", "persistent"])
    assert "'persistent' is not of the form NAME=PATH" in capsys.readouterr().err


def test_names_must_differ():
    with pytest.raises(ValueError, match="must differ, got base, base"):
        ServedModels(base="m", adapters={"base": Path("/a")})


def test_a_url_belongs_to_an_external_endpoint():
    with pytest.raises(ValueError, match="'external' needs a url, others none"):
        ServingSpec(engine="external")
    with pytest.raises(ValueError, match="'external' needs a url, others none"):
        ServingSpec(url="http://127.0.0.1:8000/v1")


def test_every_setting_of_our_server_is_on_its_command_line(tmp_path):
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    models = ServedModels(
        base="m", base_revision="b9", base_name="own", adapters={"a": tmp_path}, checkpoints={"c": Path("/c")}
    )
    spec = ServingSpec(context_tokens=9, max_concurrent=3, is_thinking=True, cpu_threads=2, cache_bytes=1000)
    command = own_command(spec, models, host="h", port=1)
    assert " ".join(command[1:]) == (
        "-m carryover.tasks.serving.cpu_server --model m --served-model-name own --host h --port 1 --max-model-len 9 "
        '--max-num-seqs 3 --default-chat-template-kwargs {"enable_thinking": true} --revision b9 '
        f"--lora-modules a={tmp_path} --chat-template {tmp_path}/chat_template.jinja --threads 2 "
        "--kv-cache-memory-bytes 1000 --checkpoints c=/c"
    )


def test_our_server_loads_checkpoints_and_adapters_by_name():
    models = ServedModels(base="b", checkpoints={"c": Path("/models/c")})
    assert own_command(ServingSpec(), models, host="h", port=1)[-2:] == ["--checkpoints", "c=/models/c"]
    assert "--checkpoints" not in own_command(ServingSpec(), PAPER, host="h", port=1)


def test_our_server_on_a_gpu_shares_its_memory_in_place_of_threads():
    spec = ServingSpec(engine="gpu", context_tokens=9, gpu_memory_share=0.5)
    command = own_command(spec, ServedModels(base="m"), host="h", port=1)
    assert command[command.index("--device") :] == ["--device", "cuda", "--gpu-memory-utilization", "0.5"]


def test_every_setting_of_vllm_is_on_its_command_line():
    spec = ServingSpec(
        engine="vllm", dtype="float16", gpu_memory_share=0.5, attention_backend="TRITON", tensor_parallel=2,
        max_lora_rank=8, load_format="dummy",
    )  # fmt: skip
    models = ServedModels(base="m", base_revision="b9", adapters={"a": Path("/a")})
    command = " ".join(vllm_command(spec, models, host="h", port=1, base_template="own"))
    assert command.endswith(
        '--default-chat-template-kwargs {"enable_thinking": false} --revision b9 --lora-modules a=/a '
        "--tokenizer-revision b9 --dtype float16 --gpu-memory-utilization 0.5 --tensor-parallel-size 2 "
        "--attention-backend TRITON --seed 0 --enable-prompt-tokens-details --generation-config vllm --enable-lora "
        "--max-lora-rank 8 --max-loras 1 --load-format dummy"
    )
    assert "--chat-template " not in command
