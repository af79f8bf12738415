-- Every counted episode of a plan with its metrics.
select * from marts.episode_metrics where plan_digest = $plan_digest
