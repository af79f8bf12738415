-- The evaluation episodes of a plan's trained models.
select *
from marts.episode_metrics
where plan_digest = $plan_digest
    and purpose = 'evaluation'
    and train_contract is not null
