-- instances whose content is in both the training and the evaluation set, or trained on although they evaluate
with used_for as (
    select instance_id, split from main.instances
    union
    select instance_id, 'train' as split from main.training_examples where status = 'retained'
),

-- the id is a hash of the content; equal items, capacity and budget under two ids are the same content as well
hashed_content as (
    select
        items.instance_id,
        hash(list((items.item_id, items.weight, items.value, items.item_class) order by items.item_id)) as items_hash
    from main.items
    group by items.instance_id
),

described as (
    select distinct
        used_for.instance_id, used_for.split,
        coalesce(
            hash(hashed_content.items_hash, instances.capacity, instances.inspection_budget),
            hash(used_for.instance_id)
        ) as content_hash
    from used_for
    left join hashed_content on used_for.instance_id = hashed_content.instance_id
    left join main.instances on used_for.instance_id = instances.instance_id
),

in_both as (
    select content_hash from described group by all having count(distinct split) > 1
)

select
    described.instance_id,
    list(described.split order by described.split) as splits
from described
semi join in_both using (content_hash)
group by all
order by instance_id
