-- one row per evaluated bucket of a plan: which of the paper's splits it stands for, and what ours was measured on
with final as (
    select distinct
        episode_metrics.plan_digest,
        episode_metrics.bucket,
        episode_metrics.published_split,
        episode_metrics.scale,
        episode_metrics.measured_on
    from marts.episode_metrics
    where episode_metrics.purpose = 'evaluation'
)

select * from final
order by plan_digest, bucket
