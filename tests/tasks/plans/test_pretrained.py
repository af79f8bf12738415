"""The plan on a pretrained model: what a caller may change, and what follows from the base."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from carryover.tasks.knapsack.knapsack_spec import KNAPSACK
from carryover.tasks.knapsack.teachers.habits import VARIED
from carryover.tasks.plans.estimate import estimate_study
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.pretrained import base_positions, in_bucket
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.plans.shards import scripted_client, scripted_identity
from carryover.tasks.services.errors import UserError
from carryover.tasks.services.limits import Prices
from carryover.tasks.sft.model_shape import known_positions
from carryover.tasks.sft.training_spec import LINEAR_LAYERS
from tests.hub_cache import OLD_COMMIT, keep_as_downloaded, read_offline

CONFIG = {
    "hidden_size": 576,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "intermediate_size": 1536,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}
CONTENT = json.dumps(CONFIG).encode()
SMALL: dict[str, Any] = {"device": "cpu", "bucket": "small", "prompt_set": "compact"}


@pytest.fixture
def base(tmp_path):
    """A folder with the configuration of SmolLM2-135M."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return str(tmp_path)


def part_of(**overrides):
    (part,) = resolve_plan("pretrained", Overrides(**overrides)).parts
    return part


def test_the_plan_trains_by_the_papers_protocol_without_faults():
    part = part_of()
    training = part.training
    assert (training.method, training.precision, training.epochs) == ("qlora", "bfloat16", 3)
    assert training.lora is not None
    assert (training.lora.rank, training.lora.alpha, training.lora.layers) == (64, 128, LINEAR_LAYERS)
    assert training.chat_template is None
    assert (part.teacher.kind, part.teacher.episode.faults) == ("scripted", None)
    assert (part.train_instances.bucket, part.teacher.episode.prompt_set) == ("easy", "full")


def test_scripted_teachers_vary_unless_told_otherwise():
    assert part_of().teacher.habits == VARIED
    assert part_of(teacher_habits="fixed").teacher.habits is None
    endpoint = part_of(teacher_url="http://host/v1", teacher_model="m").teacher
    assert (endpoint.kind, endpoint.habits) == ("endpoint", None)
    (laptop,) = resolve_plan("laptop").parts
    assert laptop.teacher.habits is None
    assert "habits" not in laptop.teacher.model_dump()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"teacher_url": "http://host/v1", "teacher_model": "m", "teacher_habits": "varied"}, "leave habits out"),
        (
            {"contracts": ("injected",), "teacher_habits": "varied"},
            "vary where nothing is injected, not under 'injected'",
        ),
    ],
)
def test_habits_that_no_teacher_can_have_are_refused(overrides, message):
    with pytest.raises(UserError, match=message):
        resolve_plan("pretrained", Overrides(**overrides))


def test_scripts_beside_the_models_have_the_teachers_habits():
    part = part_of()
    assert scripted_client(part).habits == VARIED
    assert scripted_client(part).prints_table
    silent = part.model_copy(update={"teacher": part.teacher.model_copy(update={"prints_table": False})})
    assert not scripted_client(silent).prints_table
    assert scripted_identity(part.teacher) != scripted_identity(part_of(teacher_habits="fixed").teacher)
    assert scripted_identity(part_of(teacher_habits="fixed").teacher) is True


def test_a_cpu_trains_plain_adapters_and_serves_by_itself(base):
    plan = resolve_plan("pretrained", Overrides(base_model=base, **SMALL))
    training = plan.parts[0].training
    assert (training.method, training.precision, training.batch.packing) == ("lora", "float32", False)
    assert not training.is_for_gpu
    assert plan.serving.engine == "cpu"
    assert resolve_plan("pretrained").serving.engine == "vllm"


def test_models_trained_on_a_gpu_may_be_served_on_its_processors(base):
    plan = resolve_plan("pretrained", Overrides(base_model=base, device="gpu", engine="cpu", cpu_threads=8))
    assert plan.parts[0].training.is_for_gpu
    assert (plan.serving.engine, plan.serving.cpu_threads) == ("cpu", 8)
    served = resolve_plan("pretrained", Overrides(base_model=base, device="cpu", engine="vllm")).serving
    assert served.engine == "vllm"
    served = resolve_plan("pretrained", Overrides(base_model=base, device="cpu", engine="gpu")).serving
    assert (served.engine, served.max_concurrent) == ("gpu", 64)


def test_a_gpu_trains_unpacked_where_that_is_asked_for(base):
    plan = resolve_plan("pretrained", Overrides(base_model=base, device="gpu", packing=False, pass_tokens=1500))
    batch = plan.parts[0].training.batch
    assert (batch.packing, batch.tokens) == (False, 1500)


@pytest.mark.parametrize("more", [{"device": "gpu"}, {"device": "cpu", "packing": True}])
def test_tokens_of_a_packed_pass_are_refused(base, more):
    with pytest.raises(UserError, match=r"--pass-tokens 1500 changes nothing: .*; add --no-packing"):
        resolve_plan("pretrained", Overrides(base_model=base, pass_tokens=1500, **more))


def test_sequences_and_served_context_follow_the_positions_of_the_base(base):
    plan = resolve_plan("pretrained", Overrides(base_model=base))
    (part,) = plan.parts
    assert (part.training.batch.max_length, part.dataset.maximum_sequence_tokens) == (8192, 8192)
    assert plan.serving.context_tokens == 8192
    shorter = resolve_plan("pretrained", Overrides(base_model=base, context_tokens=4096))
    assert shorter.parts[0].training.batch.max_length == 4096
    assert shorter.serving.context_tokens == 4096


def test_a_context_beyond_the_positions_is_cut_to_them(base):
    plan = resolve_plan("pretrained", Overrides(base_model=base, context_tokens=16_000))
    assert (plan.parts[0].training.batch.max_length, plan.serving.context_tokens) == (8192, 8192)


def test_another_bucket_moves_training_and_evaluation():
    part = part_of(**SMALL, evaluation_first_seed=7, max_turns=24, max_completion_tokens=320)
    (evaluation,) = part.evaluations
    assert (part.train_instances.bucket, evaluation.instances.bucket) == ("small", "small")
    assert evaluation.instances.first_seed == 7
    assert (part.teacher.episode.prompt_set, evaluation.episode.prompt_set) == ("compact", "compact")
    assert (part.teacher.episode.max_turns, evaluation.episode.max_turns) == (24, 24)
    assert evaluation.episode.max_completion_tokens == 320
    assert part.teacher.episode.max_completion_tokens == 12_288


def test_a_bucket_brings_its_tool_call_cap():
    episode = part_of().teacher.episode.model_copy(update={"tool_call_cap": 3})
    teacher = part_of().teacher.model_copy(update={"episode": episode})
    evaluations = tuple(each.model_copy(update={"episode": episode}) for each in part_of().evaluations)
    moved = in_bucket(part_of().model_copy(update={"teacher": teacher, "evaluations": evaluations}), "small")
    caps = [moved.teacher.episode.tool_call_cap, *(each.episode.tool_call_cap for each in moved.evaluations)]
    assert caps == [KNAPSACK["small"].tool_call_cap] * 2


def test_numbers_of_the_training_are_overrides():
    training = part_of(
        device="cpu", precision="bfloat16", epochs=1.5, learning_rate=5e-4, lora_rank=32, pass_tokens=900,
        accumulation=2, gradient_checkpointing=False, cpu_threads=2, chat_template="chatml",
    ).training  # fmt: skip
    assert (training.precision, training.epochs, training.optimizer.learning_rate) == ("bfloat16", 1.5, 5e-4)
    assert training.lora is not None
    assert (training.lora.rank, training.lora.alpha) == (32, 64)
    assert (training.batch.tokens, training.batch.accumulation) == (900, 2)
    assert (training.gradient_checkpointing, training.cpu_threads, training.chat_template) == (False, 2, "chatml")


def test_a_rank_beyond_any_that_vllm_serves_is_refused():
    with pytest.raises(UserError, match=r"training\.lora\.rank 513 is beyond serving\.max_lora_rank 512"):
        resolve_plan("pretrained", Overrides(lora_rank=513))


@pytest.mark.parametrize(("rank", "room"), [(8, 8), (48, 64), (65, 128), (320, 320)])
def test_a_rank_is_served_by_the_next_that_vllm_makes_room_for(rank, room):
    assert resolve_plan("pretrained", Overrides(lora_rank=rank)).serving.max_lora_rank == room


def test_one_contract_alone_is_trained_and_played():
    part = part_of(contracts=("persistent",))
    assert part.teacher.contracts == ("persistent",)
    assert part.evaluations[0].runtime_contracts == ("persistent",)


def test_compact_prompts_have_no_scripted_teacher_on_easy_instances():
    with pytest.raises(UserError, match="no scripted teacher plays easy instances with compact prompts"):
        resolve_plan("pretrained", Overrides(prompt_set="compact"))


@pytest.mark.parametrize(
    "override", [{"device": "cpu"}, {"method": "lora"}, {"lora_rank": 8}, {"precision": "float32"}]
)
def test_settings_of_a_pretrained_base_are_refused_without_one(override):
    (name,) = override
    with pytest.raises(
        UserError, match=f"^--{name.replace('_', '-')} .* changes nothing: this plan trains from base 'scratch'"
    ):
        resolve_plan("smoke", Overrides(**override))


def test_models_from_scratch_train_on_a_gpu_and_are_served_as_before():
    for scale, count in (("smoke", 1), ("laptop_full", 47)):
        plain = resolve_plan(scale)
        on_gpu = resolve_plan(scale, Overrides(device="gpu"))
        assert on_gpu.serving == plain.serving
        assert on_gpu.digest != plain.digest
        trainings = [part.training for part in on_gpu.parts]
        trainings += [part.own_base.training for part in on_gpu.parts if part.own_base is not None]
        assert len(trainings) == count
        assert {(each.device, each.attention) for each in trainings} == {("gpu", "sdpa")}
    packed = resolve_plan("smoke", Overrides(device="gpu", packing=True))
    assert [part.training.attention for part in packed.parts] == ["auto"]
    with_kernels = resolve_plan("smoke", Overrides(device="gpu", attention="flex_attention"))
    assert [part.training.attention for part in with_kernels.parts] == ["flex_attention"]


def test_a_card_of_fetched_weights_names_the_base(base, tmp_path):
    (tmp_path / "weights_source.json").write_text('{"title": "Tiny, dequantized from Q4_1"}')
    assert resolve_plan("pretrained", Overrides(base_model=base)).label == "pretrained, Tiny, dequantized from Q4_1"


@pytest.mark.parametrize(
    ("habits", "tokens", "prompted", "read"), [("fixed", 756, 7_198, 2_104), ("varied", 1641, 7_535, 1_802)]
)
def test_hours_on_a_cpu_follow_size_and_tokens_of_the_base(base, habits, tokens, prompted, read):
    overrides = Overrides(base_model=base, train_count=100, epochs=1, teacher_habits=habits, **SMALL)
    plan = resolve_plan("pretrained", overrides)
    rows = {row.stage: row for row in estimate_study(plan, Prices(), 4)}
    training = rows["main: training, persistent"]
    # 5 of 100 held out, by the scripted teachers' tokens
    assert training.training_tokens == 95 * tokens
    operations = 2 * 134_515_008 * 3 + 2 * tokens * 576 * 30 * 3.5
    assert 3600 * training.hours == pytest.approx(95 * tokens * operations / 6e10, rel=1e-3)
    played = rows["main: stateless -> stateless, small"]
    assert played.prompt_tokens == 100 * prompted
    assert 3600 * played.hours == pytest.approx(100 * read * 2 * 134_515_008 / 6e10 / 2, rel=1e-3)  # on two cores


def test_a_base_on_the_hub_has_the_positions_of_its_commit(monkeypatch, tmp_path, base):
    cache = tmp_path / "cache"
    keep_as_downloaded(cache, "tiny/base", {OLD_COMMIT: Path(base)}, newest=OLD_COMMIT)
    read_offline(monkeypatch, cache)
    plan = resolve_plan("pretrained", Overrides(base_model="tiny/base", base_revision=OLD_COMMIT))
    assert (plan.parts[0].training.batch.max_length, plan.serving.context_tokens) == (8192, 8192)


def test_a_configuration_on_the_hub_is_fetched_for_the_plan(monkeypatch, tmp_path):
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.answer()

        def do_GET(self):
            self.answer()
            self.wfile.write(CONTENT)

        def answer(self):
            self.send_response(200)
            headers = {"X-Repo-Commit": OLD_COMMIT, "ETag": '"1"', "Content-Length": str(len(CONTENT))}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
        template = address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        assert known_positions("far/away", OLD_COMMIT) == 8192
        server.shutdown()


def test_hours_on_a_gpu_scale_with_the_size_of_the_base(base):
    plan = resolve_plan("pretrained", Overrides(base_model=base))
    rows = {row.stage: row for row in estimate_study(plan, Prices(), 1)}
    small = rows["main: persistent -> persistent, easy"].hours
    unknown = resolve_plan("pretrained", Overrides(base_model="no/body", base_revision="1" * 40))
    large = {row.stage: row for row in estimate_study(unknown, Prices(), 1)}
    assert small / large["main: persistent -> persistent, easy"].hours == pytest.approx(134.5 / 8190, rel=0.02)


def test_positions_are_known_of_a_hub_base_alone(base):
    training = part_of().training
    assert base_positions(training.model_copy(update={"base_model": base, "base_revision": None})) == 8192
    assert base_positions(training.model_copy(update={"base_model": None})) is None
    assert base_positions(training.model_copy(update={"base": "common", "base_model": base})) is None
