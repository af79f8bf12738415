-- Every statistic of a plan.
select * from statistics where plan_digest = $plan_digest
