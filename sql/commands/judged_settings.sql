-- Evaluated settings of a plan: whether each bears a verdict, and how many pairs of all cells ended.
select variant, base, visibility, header, bucket, no_verdict_reason, ended_pair_count
from marts.judged_settings
where plan_digest = $plan_digest
order by all
