import pytest
from pydantic import ValidationError

from carryover.tasks.plans.apply_overrides import apply_overrides
from carryover.tasks.plans.overrides import Overrides
from carryover.tasks.plans.presets import PLANS
from carryover.tasks.plans.resolve import resolve_plan
from carryover.tasks.services.errors import UserError

SMOKE, PAPER = resolve_plan("smoke"), resolve_plan("paper")


def levels(plan):
    """The caps of a plan's evaluations, each with its bucket and its variant."""
    (part,) = plan.parts
    return [(one.instances.bucket, one.variant, one.episode.tool_call_cap) for one in part.evaluations]


def test_the_usual_stateless_scope_changes_no_digest():
    plan = apply_overrides(SMOKE, Overrides(stateless_scopes=("process", "namespace")))
    arms = [(one.variant, one.episode.stateless_scope) for one in plan.parts[0].evaluations]
    assert arms == [(None, "process"), ("scope-namespace", "namespace")]
    assert plan.digest != SMOKE.digest
    assert apply_overrides(SMOKE, Overrides(stateless_scopes=("process",))).digest == SMOKE.digest
    assert "stateless_scope" not in SMOKE.model_dump_json()


def test_the_first_cap_is_the_study_s_own():
    assert levels(apply_overrides(PAPER, Overrides(tool_call_caps=(25, 80, "none")))) == [
        ("easy", None, 25),
        ("easy", "cap-80", 80),
        ("easy", "cap-none", None),
        ("hard", None, 25),
        ("hard", "cap-80", 80),
        ("hard", "cap-none", None),
    ]


def test_one_cap_takes_the_place_of_the_study_s_own():
    assert levels(apply_overrides(SMOKE, Overrides(tool_call_caps=("none",)))) == [("small", None, None)]


def test_a_level_beside_an_ablation_says_of_which():
    (part,) = SMOKE.parts
    ablation = SMOKE.model_copy(update={"parts": (part.model_copy(update={"variant": "no-faults"}),)})
    plan = apply_overrides(ablation, Overrides(tool_call_caps=(25, 80)))
    assert levels(plan) == [("small", None, 25), ("small", "no-faults-cap-80", 80)]
    assert list(plan.parts[0].episode_variants()) == ["no-faults", "no-faults-cap-80"]


@pytest.mark.parametrize(
    ("caps", "message"),
    [
        ((), "at least 1 item"),
        ((0,), "greater than or equal to 1"),
        (("many",), "should be a valid integer"),
        ((80, 80), "80 is named twice; name each once"),
    ],
)
def test_caps_that_make_no_factor_are_refused(caps, message):
    with pytest.raises(ValidationError, match=message):
        Overrides(tool_call_caps=caps)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"training_seeds": ()}, "at least 1 item"),
        ({"training_seeds": (1, 2, 1)}, "1 is named twice; name each once"),
        ({"parts": ("scratch-1", "scratch-1")}, "scratch-1 is named twice; name each once"),
    ],
)
def test_empty_and_repeated_seeds_and_parts_are_refused(fields, message):
    with pytest.raises(ValidationError, match=message):
        Overrides(**fields)


def test_an_override_may_be_named_without_a_value():
    assert Overrides.model_validate(dict.fromkeys(Overrides.model_fields)) == Overrides()


def test_overridden_plans_are_validated_by_the_plan_s_own_rules():
    (part,) = SMOKE.parts
    longest = part.training.batch.max_length
    dataset = part.dataset.model_copy(update={"maximum_sequence_tokens": longest + 1})
    broken = SMOKE.model_copy(update={"parts": (part.model_copy(update={"dataset": dataset}),)})
    said = rf"invalid overrides for parts\.0: .*maximum_sequence_tokens {longest + 1} is beyond"
    with pytest.raises(UserError, match=said):
        apply_overrides(broken, Overrides(train_count=3))


@pytest.mark.parametrize("name", ["smoke", "laptop", "laptop_full", "paper"])
def test_overrides_that_name_nothing_leave_every_plan_as_it_is(name):
    plan = PLANS[name]("")
    assert apply_overrides(plan, Overrides()) == plan


def test_overrides_change_what_they_name_and_nothing_else():
    overrides = Overrides(train_count=7, evaluation_count=3, training_seeds=(5, 6), tool_call_caps=(80,))
    plan = apply_overrides(SMOKE, overrides)
    (part,), (own,) = plan.parts, SMOKE.parts
    assert [(one.split, one.count) for one in plan.instance_sets()] == [("train", 7), ("evaluation", 3)]
    assert part.training_seeds == (5, 6)
    assert [one.episode.tool_call_cap for one in part.evaluations] == [80]
    assert part.teacher == own.teacher
    assert (plan.runtime, plan.serving) == (SMOKE.runtime, SMOKE.serving)


def test_a_running_endpoint_takes_the_place_of_our_own_server():
    overrides = Overrides(endpoint_url="http://gpu:8000/v1", endpoint_key_variable="MODEL_KEY", concurrency=32)
    serving = apply_overrides(PAPER, overrides).serving
    assert (serving.engine, serving.url, serving.api_key_variable) == ("external", "http://gpu:8000/v1", "MODEL_KEY")
    assert serving.max_concurrent == 32


def test_another_teacher_is_an_endpoint_with_its_own_key():
    overrides = Overrides(
        teacher_url="http://host/v1", teacher_model="sage", teacher_key_variable="SAGE", concurrency=9
    )
    (part,) = apply_overrides(SMOKE, overrides).parts
    assert (part.teacher.kind, part.teacher.model_name) == ("endpoint", "sage")
    assert part.teacher.endpoint is not None
    assert (part.teacher.endpoint.api_key_variable, part.teacher.endpoint.concurrency) == ("SAGE", 9)


@pytest.mark.parametrize("plan", [SMOKE, PAPER], ids=lambda plan: plan.name)
def test_a_teacher_s_endpoint_is_sent_standard_fields_only(plan):
    (part,) = apply_overrides(plan, Overrides(teacher_url="http://host/v1", teacher_model="sage")).parts
    assert part.teacher.endpoint is not None
    assert part.teacher.endpoint.extra_body == {}


def test_the_paper_s_own_teacher_may_have_its_key_elsewhere():
    (part,), (own,) = apply_overrides(PAPER, Overrides(teacher_key_variable="OTHER")).parts, PAPER.parts
    assert part.teacher.endpoint is not None
    assert own.teacher.endpoint is not None
    assert part.teacher.endpoint.api_key_variable == "OTHER"
    assert part.teacher.endpoint.base_url == own.teacher.endpoint.base_url


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (Overrides(teacher_key_variable="KEY"), "teacher_key_variable requires teacher_url"),
        (Overrides(teacher_model="sage"), "teacher_model requires teacher_url"),
        (Overrides(endpoint_key_variable="KEY"), "endpoint_key_variable requires endpoint_url"),
        (Overrides(base_model="Qwen/Qwen3-8B"), "trains from base 'scratch'"),
    ],
)
def test_an_override_without_effect_is_refused_with_the_way_out(overrides, message):
    with pytest.raises(UserError, match=message):
        apply_overrides(SMOKE, overrides)


def test_named_parts_are_a_plan_of_their_own():
    plan = resolve_plan("laptop_full", Overrides(parts=("scratch-2", "costly")))
    assert [part.name for part in plan.parts] == ["scratch-2", "costly"]
    assert plan.digest != resolve_plan("laptop_full").digest


def test_parts_named_in_any_order_are_one_plan():
    plan = resolve_plan("laptop_full", Overrides(parts=("costly", "scratch-2")))
    assert [part.name for part in plan.parts] == ["scratch-2", "costly"]
    assert plan.digest == resolve_plan("laptop_full", Overrides(parts=("scratch-2", "costly"))).digest


def test_an_unknown_part_is_named_with_the_choices():
    with pytest.raises(UserError, match="plan laptop has no part 'costly'; choose from main"):
        resolve_plan("laptop", Overrides(parts=("costly",)))


@pytest.mark.parametrize("name", ["smoke", "paper"])
def test_a_study_at_another_pace_keeps_its_digest(name):
    slow, fast = (resolve_plan(name, Overrides(concurrency=count)) for count in (2, 9))
    assert slow != fast
    assert slow.digest == fast.digest == resolve_plan(name).digest
    assert slow.digest != resolve_plan(name, Overrides(concurrency=2, train_count=3)).digest


def test_another_base_drops_the_revision_of_the_plan_s_own():
    plan = resolve_plan("paper")
    (part,) = plan.parts
    pinned = part.model_copy(update={"training": part.training.model_copy(update={"base_revision": "b968826"})})
    changed = apply_overrides(plan.model_copy(update={"parts": (pinned,)}), Overrides(base_model="somebody/base"))
    assert (changed.parts[0].training.base_model, changed.parts[0].training.base_revision) == ("somebody/base", None)


def test_the_paper_s_data_and_training_can_be_varied():
    overrides = Overrides(
        text_format="exact_wire", retention="paired", base_revision="0123abc", attention="sdpa", matching="episodes"
    )
    (part,) = apply_overrides(resolve_plan("paper"), overrides).parts
    assert (part.dataset.text_format, part.dataset.retention) == ("exact_wire", "paired")
    assert (part.training.base_revision, part.training.attention) == ("0123abc", "sdpa")
    with pytest.raises(UserError, match="choose retention keep_first or matching episodes"):
        apply_overrides(resolve_plan("paper"), Overrides(retention="paired", matching="tokens"))
    with pytest.raises(
        UserError,
        match=r"--base-revision 0123abc changes nothing: .* are pretrained, paper, paper_injected",
    ):
        apply_overrides(resolve_plan("laptop"), Overrides(base_revision="0123abc"))


def test_thresholds_of_the_data_checks_can_be_changed():
    overrides = Overrides(minimum_score=0.25, minimum_yield=0.0, maximum_error_density=0.5, maximum_loop_similarity=1.0)
    (part,) = apply_overrides(SMOKE, overrides).parts
    (plain,) = SMOKE.parts
    assert part.validation == plain.validation.model_copy(update=overrides.model_dump(exclude_none=True))
    assert part.model_copy(update={"validation": plain.validation}) == plain


def test_the_schema_names_the_parts_of_every_plan():
    names = Overrides.model_json_schema()["properties"]["parts"]["anyOf"][0]["items"]["enum"]
    assert set(names) == {part.name for plan in PLANS.values() for part in plan("").parts}
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_model", "m"),
        ("base_revision", "main"),
        ("device", "cpu"),
        ("engine", "cpu"),
        ("method", "lora"),
        ("precision", "float32"),
        ("chat_template", "chatml"),
        ("lora_rank", 4),
    ],
)
def test_a_setting_of_a_pretrained_base_is_refused_elsewhere(field, value):
    option = f"--{field.replace('_', '-')}"
    with pytest.raises(UserError) as refused:
        apply_overrides(SMOKE, Overrides.model_validate({field: value}))
    assert str(refused.value) == (
        f"{option} {value} changes nothing: this plan trains from base 'scratch'; "
        "plans that adapt a pretrained model are pretrained, paper, paper_injected"
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_model", "m"),
        ("base_revision", "b9"),
        ("method", "lora"),
        ("precision", "float32"),
        ("chat_template", "chatml"),
        ("epochs", 2.0),
        ("attention", "sdpa"),
        ("gradient_checkpointing", False),
        ("cpu_threads", 3),
    ],
)
def test_a_setting_of_a_training_is_its_field(field, value):
    (part,), (own,) = apply_overrides(PAPER, Overrides.model_validate({field: value})).parts, PAPER.parts
    assert getattr(part.training, field) == value
    changed = {field: value} | ({"base_revision": None} if field == "base_model" else {})
    assert part.training == own.training.model_copy(update=changed)
