-- instances whose stored optimum does not fit their items: value, weight, capacity, allowed classes, number of items
with summed_items as (
    select
        instance_id,
        count(*) as item_count,
        sum(value) filter (is_optimal)::bigint as optimal_value,
        sum(weight) filter (is_optimal)::bigint as optimal_weight,
        bool_and(is_allowed) filter (is_optimal) as is_allowed,
        count(*) filter (is_optimal) as optimal_count
    from main.items
    group by instance_id
)

select distinct
    instances.instance_id, instances.item_count,
    summed_items.item_count as item_rows,
    instances.capacity, instances.inspection_budget, instances.optimal_value,
    summed_items.optimal_value as item_optimal_value,
    instances.optimal_weight,
    summed_items.optimal_weight as item_optimal_weight
from main.instances
left join summed_items on instances.instance_id = summed_items.instance_id
where instances.family = 'knapsack' and ((instances.item_count, instances.optimal_value, instances.optimal_weight)
    is distinct from (summed_items.item_count, summed_items.optimal_value, summed_items.optimal_weight)
or instances.optimal_weight > instances.capacity
or instances.inspection_budget not between summed_items.optimal_count and instances.item_count
or len(instances.optimal_item_ids) <> summed_items.optimal_count
or not summed_items.is_allowed)
order by instance_id
