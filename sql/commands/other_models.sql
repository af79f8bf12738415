-- Models whose episodes hold the place of another one in a plan.
select distinct model_name
from episodes
where plan_digest = $plan
    and model_name <> $model
    and purpose = $purpose
    and train_contract is not distinct from $train_contract
    and variant = $variant
    and base = $base
    and bucket = $bucket
