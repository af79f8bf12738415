-- Every episode of a plan with its metrics, counted or not.
select * from marts.episode_metrics where plan_digest = $plan_digest
