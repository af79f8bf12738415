"""Study plans by name: frozen specs composed to one resolved plan.

Read `study_plan.py` first: a plan is parts, and a part is teacher, data, training and evaluation. `presets.py` names
the plans, `laptop_full.py` and `pretrained.py` compose the large ones, `overrides.py` and `apply_overrides.py` change a
few fields. `models.py` and `shards.py` list what a plan trains and plays. `identity.py` says which source a stage
depends on, `preflight.py` and `estimate.py` what a plan needs and takes. `hypotheses.toml` holds the claims, fixed
beforehand.

What must stay true: an edit changes the identities of the stages behind it and of no others
(`tests/tasks/plans/test_identity.py`); a plan's digest follows its source and every field (`test_presets.py`).
"""
