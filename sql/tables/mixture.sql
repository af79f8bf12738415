-- The mixture: trained cells by the share of the other contract's episodes, with and without a declared contract
with shares as (
    select distinct training_examples.variant, training_examples.other_share
    from main.training_examples
    inner join marts.episode_metrics using (episode_id)
    where episode_metrics.plan_digest = $plan_digest and training_examples.other_share is not null
),

declared as (
    select
        variant,
        bool_and(is_declared) as is_declared
    from marts.episode_metrics
    where plan_digest = $plan_digest and purpose = 'evaluation'
    group by all
),

cells as (
    select *
    from marts.evaluated_cells
    inner join shares using (variant)
    inner join declared using (variant)
    where plan_digest = $plan_digest
        and train_contract is not null
        and base <> 'teacher'
        and exists (select 1 from shares as mixed where mixed.other_share > 0)
)

select
    measured_on, variant, base, visibility, header, bucket, other_share, is_declared, condition,
    episode_count, ended_count, missing_name_episode_pct,
    widest_missing_name_episode_pct_low, widest_missing_name_episode_pct_high,
    mean_total_tokens, widest_mean_total_tokens_low, widest_mean_total_tokens_high,
    mean_total_tokens / max(mean_total_tokens) filter (other_share = 0) over of_cell as ratio_to_unmixed,
    score_pct
from cells
window of_cell as (partition by is_declared, base, visibility, header, bucket, condition)
order by is_declared desc, base, visibility desc, header desc, bucket, other_share, condition
