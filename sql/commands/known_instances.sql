-- Instances as the authors' result files describe them.
select
    task_id, capacity, optimal_value,
    any_value(instance_id) as instance_id
from instances
group by all
