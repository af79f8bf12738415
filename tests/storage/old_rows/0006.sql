-- What two arms of a training set have in common.
insert into main.training_overlaps by name
select
    'first' as run_id,
    'set' as dataset_id,
    'main' as variant,
    'persistent' as contract,
    'stateless' as other_contract,
    4 as instance_count,
    3 as other_instance_count,
    2 as shared_count;
