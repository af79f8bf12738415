-- The teacher's batch: trained models beside their scripts on the same instances, as a block takes more items
with batches as (
    select
        variant,
        min(taken_per_turn) as batch
    from marts.episode_metrics
    where plan_digest = $plan_digest
    group by all
    having count(distinct taken_per_turn) = 1
),

cells as (
    select *
    from marts.evaluated_cells
    inner join batches using (variant)
    where plan_digest = $plan_digest and train_contract is not null
),

-- the wider of the intervals: of resampled seeds and instances, and of Student's t over the seeds
intervals as (
    select
        variant, base, visibility, header, bucket, analysis, train_a, runtime_a,
        max(estimate) as estimate,
        arg_max(low, high - low) as low,
        arg_max(high, high - low) as high
    from main.statistics
    where plan_digest = $plan_digest
        and metric = 'total_tokens'
        and analysis in ('interaction_ratio', 'trained_minus_script')
        and staging.is_main_interval(interval_kind)
    group by all
)

select
    trained.measured_on, trained.variant, trained.base, trained.visibility, trained.header, trained.bucket,
    trained.batch, trained.condition, trained.episode_count, trained.ended_count,
    trained.mean_total_tokens as trained_tokens,
    script.mean_total_tokens as script_tokens,
    difference.low as trained_minus_script_low,
    difference.high as trained_minus_script_high,
    trained.mean_total_tokens / max(trained.mean_total_tokens) filter (trained.condition = 'P->P') over of_setting
        as trained_ratio_to_p_on_p,
    script.mean_total_tokens / max(script.mean_total_tokens) filter (trained.condition = 'P->P') over of_setting
        as script_ratio_to_p_on_p,
    trained.missing_names_per_episode as trained_missing_names,
    script.missing_names_per_episode as script_missing_names,
    trained.score_pct as trained_score_pct,
    script.score_pct as script_score_pct,
    crossed.estimate as interaction_ratio,
    crossed.low as interaction_ratio_low,
    crossed.high as interaction_ratio_high,
    of_scripts.estimate as script_interaction_ratio,
    of_scripts.low as script_interaction_ratio_low,
    of_scripts.high as script_interaction_ratio_high
from cells as trained
left join cells as script
    on (trained.variant, trained.visibility, trained.header, trained.bucket, trained.condition)
    = (script.variant, script.visibility, script.header, script.bucket, script.condition)
    and script.base = 'teacher'
left join intervals as difference
    on (trained.variant, trained.base, trained.visibility, trained.header, trained.bucket)
    = (difference.variant, difference.base, difference.visibility, difference.header, difference.bucket)
    and (trained.train_contract, trained.runtime_contract) = (difference.train_a, difference.runtime_a)
    and difference.analysis = 'trained_minus_script'
left join intervals as crossed
    on (trained.variant, trained.base, trained.visibility, trained.header, trained.bucket)
    = (crossed.variant, crossed.base, crossed.visibility, crossed.header, crossed.bucket)
    and crossed.analysis = 'interaction_ratio'
left join intervals as of_scripts
    on (trained.variant, trained.visibility, trained.header, trained.bucket)
    = (of_scripts.variant, of_scripts.visibility, of_scripts.header, of_scripts.bucket)
    and of_scripts.base = 'teacher'
    and of_scripts.analysis = 'interaction_ratio'
where trained.base <> 'teacher'
window of_setting as (
    partition by trained.variant, trained.base, trained.visibility, trained.header, trained.bucket
)
order by
    try_cast(trained.batch as integer) nulls last, trained.variant, trained.base, trained.visibility desc,
    trained.header desc, trained.bucket, trained.condition
