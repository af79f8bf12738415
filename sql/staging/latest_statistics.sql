-- one row per statistic of a plan: the one of the run that computed it last
with dated_statistics as (
    select
        statistics.*,
        row_number() over (
            partition by
                statistics.plan_digest,
                statistics.variant,
                statistics.base,
                statistics.visibility,
                statistics.header,
                statistics.bucket,
                statistics.analysis,
                statistics.comparison_group,
                statistics.metric,
                statistics.train_a,
                statistics.runtime_a,
                statistics.train_b,
                statistics.runtime_b,
                -- a method's first words name it; the rest says how many units it resampled
                split_part(statistics.method, ',', 1)
            order by runs.started_at desc, statistics.run_id desc
        ) as recency
    from main.statistics
    left join main.runs on statistics.run_id = runs.run_id
),

final as (
    select * exclude (recency)
    from dated_statistics
    where recency = 1
)

select * from final
