-- Token cost over P->P of every other trained cell: of all pairs, and of those in which both episodes ended normally
select token_sensitivity.* exclude (plan_digest)
from marts.token_sensitivity
where token_sensitivity.plan_digest = $plan_digest
order by variant, base, visibility, header, bucket, condition
