-- trainings that ended with a loss that is no number, or logged one on the way
with logged as (
    select training_run_id, count(*) filter (not isfinite(loss)) as broken_count
    from main.training_metrics
    group by all
)

select
    training_run_id, final_loss,
    coalesce(broken_count, 0) as broken_metric_count
from main.training_runs
left join logged using (training_run_id)
where not isfinite(final_loss)
or training_runs.token_count <= 0
or broken_count > 0
order by training_run_id
