-- The logging steps of some fine-tunings.
select
    training_run_id, optimizer_step, loss, validation_loss, learning_rate, gradient_norm, token_accuracy, entropy,
    token_count, wall_seconds
from training_metrics
where training_run_id in (select unnest($training_run_ids))
order by training_run_id, optimizer_step
