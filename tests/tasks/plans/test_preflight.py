import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from carryover.tasks.plans import preflight
from carryover.tasks.plans.estimate import start_shape
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.preflight import check_machine, check_needs, check_teachers, free_bytes, training_needs
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.run import Limits
from carryover.tasks.plans.serving_memory import largest_serving_need
from carryover.tasks.services.errors import UserError
from carryover.tasks.serving.ask import NoAnswer
from carryover.tasks.serving.cpu.padded import COPIED_BYTES
from carryover.tasks.sft.machine import Machine
from carryover.tasks.sft.resources import GIB
from tests.hub_cache import NEW_COMMIT, OLD_COMMIT, keep_as_downloaded, read_offline

MODEL = "nobody/no-model"
GATED = "somebody/gated"
NOBODY = "http://127.0.0.1:9"
"""An address at which nothing listens."""
KEY = "CARRYOVER_TEST_TEACHER_KEY"
NO_WORKER = "an online worker on the work pool 'gpu' (carryover worker --pool gpu)"
H100 = Machine("NVIDIA H100 80GB HBM3", 79 * GIB)
NO_GPU = Machine(None, 23 * GIB)
TOO_SMALL = "a GPU for the training paper, found only this machine (no GPU, 23 GiB): "


@pytest.fixture
def endpoint():
    """A server on loopback that lists no models, nor has any; one it gives to who holds a token."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            is_gated = self.path in [f"/{GATED}/resolve/{commit}/config.json" for commit in ("main", OLD_COMMIT)]
            is_let_in = is_gated and self.headers["authorization"] == "Bearer secret"
            self.send_response(200 if is_let_in else 403 if is_gated else 404)
            self.send_header("X-Error-Code", "GatedRepo" if is_gated else "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def make_plan(url=NOBODY, model=MODEL, commit=None):
    overrides = Overrides(
        teacher_url=f"{url}/v1",
        teacher_key_variable=KEY,
        base_model=str(model),
        base_revision=commit,
        endpoint_url=f"{url}/v1",
    )
    return resolve_plan("paper", overrides)


def complaint(plan, *, machine=NO_GPU, lack: str | None = NO_WORKER, trains_here=True, free=10**12, hub_url=NOBODY):
    with pytest.raises(UserError) as raised:
        check_needs(
            plan,
            lambda _: lack,
            trains_here=trains_here,
            find_machine=lambda: machine,
            find_free=lambda _: free,
            hub_url=hub_url,
        )
    return str(raised.value)


def test_one_line_names_gpu_model_endpoint_and_key(monkeypatch):
    monkeypatch.delenv(KEY, raising=False)
    assert complaint(make_plan()) == (
        "plan paper cannot start; missing: "
        f"{TOO_SMALL}use such a machine, or a worker with it on the work pool 'gpu' and --train-on gpu_pool; "
        f"the model {MODEL} (download it, or name its folder with --base-model); "
        f"an answer from the models' endpoint {NOBODY}/v1 (Connection refused); "
        f"the teacher's key in the environment variable {KEY}; "
        f"an answer from the teacher's endpoint {NOBODY}/v1 (Connection refused)"
    )


def test_a_machine_and_a_teacher_can_be_checked_alone(monkeypatch):
    monkeypatch.delenv(KEY, raising=False)
    check_machine(make_plan(), Limits(), lambda: H100)
    lack = TOO_SMALL.removesuffix(": ")
    with pytest.raises(UserError, match=re.escape(f"plan paper cannot start; missing: {lack}") + "$"):
        check_machine(make_plan(), Limits(), lambda: NO_GPU)
    with pytest.raises(
        UserError, match=f"missing: the teacher's key in .* {KEY}; an answer from the teacher's endpoint"
    ):
        check_teachers(make_plan())


def test_an_endpoint_of_several_parts_is_asked_once(monkeypatch):
    asked = []

    def ask(url, *_):
        asked.append(url)
        return NoAnswer("nobody is there")

    monkeypatch.setattr(preflight, "ask", ask)
    overrides = Overrides(endpoint_url=f"{NOBODY}/served", teacher_url=f"{NOBODY}/teacher", teacher_model="m")
    plan = resolve_plan("laptop_full", overrides)
    assert len(plan.parts) > 1
    complaint(plan, lack=None)
    assert asked == [f"{NOBODY}/served/models", f"{NOBODY}/teacher/models"]
    with pytest.raises(UserError, match="the teacher's endpoint"):
        check_teachers(plan)
    assert asked[2:] == [f"{NOBODY}/teacher/models"]


def test_a_missing_server_program_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    overrides = Overrides(teacher_url=f"{NOBODY}/v1", base_model=MODEL)
    assert "; vllm (sh deployments/install_vllm.sh, or name" in complaint(resolve_plan("paper", overrides))


def test_nothing_is_missing_where_all_is_there(endpoint, monkeypatch, tmp_path):
    monkeypatch.setenv(KEY, "secret")
    check_needs(make_plan(endpoint, tmp_path), lambda _: NO_WORKER, trains_here=True, find_machine=lambda: H100)


def test_a_worker_on_the_gpu_pool_replaces_a_gpu_here(endpoint, monkeypatch, tmp_path):
    monkeypatch.setenv(KEY, "secret")
    plan = make_plan(endpoint, tmp_path)
    check_needs(plan, lambda _: None, trains_here=False, find_machine=lambda: NO_GPU)
    assert complaint(plan, lack=None).endswith(
        f": {TOO_SMALL}a worker on the work pool 'gpu' has it, pass --train-on gpu_pool"
    )


def test_our_server_on_a_gpu_needs_one_here_and_room_in_its_memory(tmp_path):
    base = write_base(tmp_path, hidden_size=2304)
    plan = resolve_plan("pretrained", Overrides(base_model=base, device="cpu", engine="gpu", gpu_memory_share=0.5))
    assert "a GPU here for the engine gpu to serve the models" in complaint(plan, lack=None, trains_here=False)
    small = Machine("some GPU", 4 * GIB)
    said = complaint(plan, machine=small, lack=None, trains_here=False)
    assert "to serve the 3 models of part main, where this machine (some GPU, 4 GiB) has 2.0 GiB for them" in said


def test_our_server_on_a_gpu_needs_weights_and_copies(tmp_path):
    base = write_base(tmp_path, hidden_size=576)
    plan = resolve_plan("pretrained", Overrides(base_model=base, device="cpu", engine="gpu"))
    shape = start_shape(plan.parts[0].training)
    assert shape is not None
    assert largest_serving_need(plan) == ("main", 3, 3 * 4 * shape.parameter_count + COPIED_BYTES)


@pytest.mark.parametrize("trains_here", [True, False])
def test_vllm_needs_a_gpu_here_wherever_the_training_runs(endpoint, monkeypatch, tmp_path, trains_here):
    monkeypatch.setenv(KEY, "secret")
    overrides = Overrides(teacher_url=f"{endpoint}/v1", teacher_key_variable=KEY, base_model=str(tmp_path))
    need = "a GPU here for the engine vllm to serve the models (or name a running server with --endpoint-url)"
    said = complaint(resolve_plan("paper", overrides), lack=None, trains_here=trains_here)
    assert need in said
    assert need not in complaint(make_plan(), lack=None, trains_here=trains_here)


@pytest.mark.parametrize("name", ["smoke", "laptop", "laptop_full"])
def test_a_training_is_handed_to_no_pool_that_nobody_serves(name):
    plan = resolve_plan(name)
    assert complaint(plan, machine=H100, trains_here=False) == f"plan {name} cannot start; missing: {NO_WORKER}"


def test_training_that_needs_most_is_named_first():
    smoke, paper = resolve_plan("smoke"), resolve_plan("paper")
    both = paper.model_copy(update={"parts": (*smoke.parts, *paper.parts)})
    assert [need.has_gpu for need in training_needs(both, Limits())] == [True, False]


def test_trainings_that_share_a_gpu_need_the_memory_of_all():
    plan = resolve_plan("paper")
    (alone,) = training_needs(plan, Limits(gpus_per_training=2))
    (two,) = training_needs(plan, Limits(gpus_per_training=2, trainings_per_gpu=2))
    assert two.memory_bytes == 2 * (alone.memory_bytes or 0) > 0
    assert str(two).endswith(" for 2 trainings paper on it (lower --trainings-per-gpu)")
    assert training_needs(plan, Limits(gpus_per_training=2, trainings_per_gpu=9)) == [two]  # the plan has two


def test_trainings_without_a_gpu_share_none():
    plan = resolve_plan("smoke")
    assert training_needs(plan, Limits(trainings_per_gpu=2)) == training_needs(plan, Limits())


def test_gpus_that_cannot_share_a_step_are_refused():
    with pytest.raises(
        UserError, match=r"training paper cannot be shared by 3 GPUs: .* batch.accumulation, which is 16"
    ):
        check_needs(resolve_plan("paper"), lambda _: None, trains_here=False, limits=Limits(gpus_per_training=3))


def test_a_hub_that_refuses_a_model_does_not_have_it(endpoint, monkeypatch):
    monkeypatch.setenv(KEY, "secret")
    assert complaint(make_plan(endpoint), machine=H100, hub_url=endpoint).endswith(
        f": the model {MODEL} (download it, or name its folder with --base-model)"
    )


def test_a_downloaded_model_is_missing_at_another_commit(endpoint, monkeypatch, tmp_path):
    monkeypatch.setenv(KEY, "secret")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "config.json").write_text("{}")
    keep_as_downloaded(tmp_path / "cache", MODEL, {OLD_COMMIT: tmp_path / "old"}, newest=OLD_COMMIT)
    read_offline(monkeypatch, tmp_path / "cache")

    old, new, unpinned = (make_plan(endpoint, commit=commit) for commit in (OLD_COMMIT, NEW_COMMIT, None))
    check_needs(old, lambda _: NO_WORKER, trains_here=True, find_machine=lambda: H100, hub_url=endpoint)
    assert f": the model {MODEL} " in complaint(new, machine=H100, hub_url=endpoint)
    said = f": a commit of the model {MODEL} (--base-revision, e.g. {OLD_COMMIT}, which is here)"
    assert complaint(unpinned, machine=H100, hub_url=endpoint).endswith(said)


def test_a_gated_model_is_missing_only_without_access(endpoint, monkeypatch):
    monkeypatch.setenv(KEY, "secret")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    plan = make_plan(endpoint, GATED)
    assert complaint(plan, machine=H100, hub_url=endpoint).endswith(
        f": access to the model {GATED} (accept its licence on the hub and set HF_TOKEN, or name a local copy)"
    )
    monkeypatch.setenv("HF_TOKEN", "secret")
    assert complaint(plan, machine=H100, hub_url=endpoint).endswith(
        f": a commit of the model {GATED} (--base-revision)"
    )
    plan = make_plan(endpoint, GATED, OLD_COMMIT)
    check_needs(plan, lambda _: NO_WORKER, trains_here=True, find_machine=lambda: H100, hub_url=endpoint)


def test_an_empty_key_is_no_key(endpoint, monkeypatch, tmp_path):
    monkeypatch.setenv(KEY, " ")
    assert complaint(make_plan(endpoint, tmp_path), machine=H100).endswith(
        f": the teacher's key in the environment variable {KEY}"
    )


def test_a_disk_without_room_for_the_episodes_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CARRYOVER_HOME", str(tmp_path / "data"))
    # smoke: 40 teacher episodes per contract, 6 episodes in each of 10 cells
    assert complaint(resolve_plan("smoke"), free=99_000_000) == (
        "plan smoke cannot start; missing: about 114 MB of room for 140 episodes "
        f"in {tmp_path}/data, which has 99 MB (free some, or name another folder with CARRYOVER_HOME)"
    )
    assert free_bytes(tmp_path / "data" / "deeper") > 0


@pytest.mark.parametrize("name", ["smoke", "laptop", "laptop_full"])
def test_the_plans_for_a_cpu_need_nothing(name):
    def ask(needs):
        raise AssertionError("no worker is needed")

    check_needs(resolve_plan(name), ask, trains_here=True, find_machine=lambda: NO_GPU, hub_url=NOBODY)


def write_base(folder, *, hidden_size, **fields):
    config = {
        "model_type": "llama",
        "hidden_size": hidden_size,
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "intermediate_size": 4 * hidden_size,
        "vocab_size": 49152,
        "max_position_embeddings": 8192,
        "tie_word_embeddings": True,
        **fields,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


WINDOWED = {"model_type": "mistral", "sliding_window": 64}
UNUSED_WINDOW = {"model_type": "qwen2", "sliding_window": 64, "use_sliding_window": False}


@pytest.mark.parametrize(
    ("engine", "fields", "lack"),
    [
        ("cpu", WINDOWED, ": it has layers of kind full_attention with sliding window 64, and the engine cpu serves"),
        ("cpu", {"model_type": "of tomorrow"}, "a model that the installed transformers knows, where "),
        (
            "cpu",
            {"model_type": "own", "auto_map": {"AutoConfig": "code.Own"}},
            "a model that the installed transformers",
        ),
        ("cpu", UNUSED_WINDOW, None),
        ("vllm", WINDOWED, None),
    ],
)
def test_a_base_that_our_engines_cannot_serve_is_refused_before_any_work(tmp_path, monkeypatch, engine, fields, lack):
    monkeypatch.setattr("carryover.tasks.plans.preflight.vllm_program", lambda: "vllm")
    base = write_base(tmp_path, hidden_size=576, **fields)
    plan = resolve_plan("pretrained", Overrides(base_model=base, device="cpu", engine=engine))
    if lack is None:
        check_needs(plan, lambda _: None, trains_here=False, find_machine=lambda: H100)
    else:
        assert lack in complaint(plan, lack=None, trains_here=False)


def test_models_that_no_memory_here_serves_are_refused_before_any_work(tmp_path):
    base = write_base(tmp_path, hidden_size=2304)
    plan = resolve_plan("pretrained", Overrides(base_model=base, engine="cpu", training_seeds=(1, 2, 3)))
    shape = start_shape(plan.parts[0].training)
    assert shape is not None
    wanted = 7 * 4 * shape.parameter_count + plan.serving.cache_bytes
    said = complaint(plan, lack=None, trains_here=False)
    assert f"{wanted / GIB:.1f} GiB of memory to serve the 7 models of part main" in said
    assert "this machine (no GPU, 23 GiB) has 23.0 GiB for them (train fewer seeds at a time" in said


def test_vllm_needs_room_for_base_adapters_and_a_conversation(tmp_path):
    plan = resolve_plan("pretrained", Overrides(base_model=write_base(tmp_path, hidden_size=2304)))
    (part,) = plan.parts
    shape = start_shape(part.training)
    lora = part.training.lora
    assert shape is not None
    assert lora is not None
    cached = 2 * 30 * 3 * (2304 // 9) * plan.serving.context_tokens
    adapters = 2 * shape.adapter_parameter_count(lora)
    assert largest_serving_need(plan) == ("main", 3, 2 * (shape.parameter_count + adapters + cached))
    small = Machine("some GPU", 4 * GIB)
    assert "of memory to serve the 3 models" in complaint(plan, machine=small, lack=None, trains_here=False)


def test_a_server_on_processors_needs_the_memory_beside_a_gpu(tmp_path):
    base = write_base(tmp_path, hidden_size=2304)
    plan = resolve_plan("pretrained", Overrides(base_model=base, device="cpu", engine="cpu"))
    little = Machine("some GPU", 80 * GIB, 4 * GIB)
    said = complaint(plan, machine=little, lack=None, trains_here=False)
    assert "to serve the 3 models of part main, where this machine (some GPU, 80 GiB, beside 4 GiB) has" in said
    enough = Machine("some GPU", 4 * GIB, 80 * GIB)
    check_needs(plan, lambda _: None, trains_here=False, find_machine=lambda: enough)


def test_servers_of_others_and_bases_of_unknown_size_need_no_memory_here():
    assert largest_serving_need(resolve_plan("pretrained", Overrides(base_model="nobody/unknown"))) is None
    assert largest_serving_need(make_plan()) is None
    toy = largest_serving_need(resolve_plan("laptop"))
    assert toy is not None
    assert toy.memory_bytes < 3 * GIB
