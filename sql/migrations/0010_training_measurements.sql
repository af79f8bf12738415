-- What a training measured beside its loss.
alter table main.training_runs add column attention varchar;
alter table main.training_metrics add column token_accuracy double;
alter table main.training_metrics add column entropy double;
alter table main.training_metrics add column peak_memory_bytes bigint;
alter table main.training_metrics add column utilization double;
alter table main.training_metrics add column validation_loss double;
