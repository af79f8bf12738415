-- one row: the bucket of a plan's teacher traces; without any, the one that most of its episodes have
select bucket
from marts.episode_metrics
where plan_digest = $plan_digest
group by bucket
order by count(*) filter (where purpose = 'teacher') desc, count(*) desc, bucket
limit 1
