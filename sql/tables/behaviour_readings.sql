-- Behaviour per cell under every reading of appendix F
select
    reading_means.condition as cell,
    reading_means.* exclude (plan_digest, condition)
from marts.reading_means
where reading_means.plan_digest = $plan_digest
order by variant, base, visibility, header, bucket, model desc, cell, is_default desc, reading
