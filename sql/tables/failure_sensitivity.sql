-- Failure classes per cell under every reading of appendix D.3: thresholds crossed, then the named variants
select
    failure_counts.condition as cell,
    failure_counts.* exclude (plan_digest, condition)
from marts.failure_counts
where failure_counts.plan_digest = $plan_digest
order by variant, base, visibility, header, bucket, model desc, cell, is_sensitivity desc, reading
