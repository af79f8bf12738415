-- The fine-tunings on the datasets that a plan's teacher episodes are in.
with plan_datasets as (
    select distinct training_examples.dataset_id
    from training_examples
    inner join marts.episode_metrics on training_examples.episode_id = episode_metrics.episode_id
    where episode_metrics.plan_digest = $plan_digest
)

select training_runs.* exclude (settings_json, output_path)
from training_runs
semi join plan_datasets on training_runs.dataset_id = plan_datasets.dataset_id
order by training_runs.variant, training_runs.base, training_runs.contract, training_runs.training_seed
