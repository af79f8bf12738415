-- Table 9: behaviour per cell on the bucket that stands for Easy; ours beside Qwen3-8B
select measured_behaviour.* exclude (plan_digest, published_split)
from marts.measured_behaviour
where measured_behaviour.plan_digest = $plan_digest
    and measured_behaviour.published_split = 'easy'
order by variant, base, visibility, header, bucket, model desc, condition
