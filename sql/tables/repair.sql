-- Repair: what becomes of episodes that miss a name, and the difference in score that so many instances can detect
select
    measured_on, variant, base, visibility, header, bucket, model, condition,
    count(*) as episode_count,
    count(*) filter (has_missing_name) as affected_episode_count,
    100 * avg(cast(is_repaired as integer)) as repaired_pct,
    avg(turns_to_repair) as mean_turns_to_repair,
    -- of the blocks after an episode's first
    100 * sum(repeated_step_count) filter (has_missing_name)
    / nullif(sum(step_count - 1) filter (has_missing_name), 0) as affected_repeated_block_pct,
    100 * avg(cast(finish_reason = 'finish_tool' as integer)) filter (has_missing_name) as affected_ended_pct,
    100 * avg(score) filter (has_missing_name) as affected_score_pct,
    100 * avg(score) filter (not has_missing_name) as unaffected_score_pct,
    -- two groups of so many episodes, 5 % two-sided, power 80 %: (1.96 + 0.84) standard errors of the difference
    280 * nullif(stddev_samp(score), 0) * sqrt(2 / count(score)) as detectable_score_points
from marts.episode_metrics
where plan_digest = $plan_digest and is_counted and purpose = 'evaluation'
group by all
order by all
