-- trainings that ended with a loss that is no number, or logged one on the way
with logged as (
    select
        training_metrics.training_run_id,
        count(*) filter (not isfinite(training_metrics.loss)) as broken_count
    from main.training_metrics
    group by training_metrics.training_run_id
)

select
    training_runs.training_run_id, training_runs.final_loss,
    coalesce(logged.broken_count, 0) as broken_metric_count
from main.training_runs
left join logged on training_runs.training_run_id = logged.training_run_id
where not isfinite(training_runs.final_loss)
or training_runs.token_count <= 0
or logged.broken_count > 0
order by training_run_id
