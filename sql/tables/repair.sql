-- Repair: what becomes of episodes that miss a name, and the difference in score that so many instances can detect
with first_misses as (
    select
        episode_id,
        min(turn) as first_turn
    from main.errors
    where is_missing_name and not is_caught
    group by all
),

clean_steps as (
    select episode_id, turn
    from main.steps
    anti join (select episode_id, turn from main.errors where not is_caught) as failed using (episode_id, turn)
),

repairs as (
    select
        first_misses.episode_id,
        first_misses.first_turn,
        -- the first block after it that ends without an error
        min(clean_steps.turn) filter (clean_steps.turn > first_misses.first_turn) as repaired_turn
    from first_misses
    left join clean_steps using (episode_id)
    group by all
),

counted_episodes as (
    select
        episode_metrics.*,
        repairs.repaired_turn - repairs.first_turn as turns_to_repair
    from marts.episode_metrics
    left join repairs using (episode_id)
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.is_counted
        and episode_metrics.purpose = 'evaluation'
)

select
    measured_on, variant, base, visibility, header, bucket, model, condition,
    count(*) as episode_count,
    count(*) filter (has_missing_name) as affected_episode_count,
    100 * avg(cast(turns_to_repair is not null as integer)) filter (has_missing_name) as repaired_pct,
    avg(turns_to_repair) as mean_turns_to_repair,
    100 * avg(cast(finish_reason = 'finish_tool' as integer)) filter (has_missing_name) as affected_ended_pct,
    100 * avg(score) filter (has_missing_name) as affected_score_pct,
    100 * avg(score) filter (not has_missing_name) as unaffected_score_pct,
    -- two groups of so many episodes, 5 % two-sided, power 80 %: (1.96 + 0.84) standard errors of the difference
    280 * stddev_samp(score) * sqrt(2 / count(score)) as detectable_score_points
from counted_episodes
group by all
order by all
