-- instances whose content is in both the training and the evaluation set, or trained on although they evaluate
with used_for as (
    select instance_id, split from main.instances
    union
    select instance_id, 'train' as split from main.training_examples where status = 'retained'
),

-- the id is a hash of the content; equal items, capacity and budget under two ids are the same content as well
hashed_content as (
    select instance_id, hash(list((item_id, weight, value, item_class) order by item_id)) as items_hash
    from main.items
    group by all
),

described as (
    select distinct
        instance_id, used_for.split,
        -- an instance of a family without items is its id
        if(items_hash is null, hash(instance_id), hash(items_hash, capacity, inspection_budget)) as content_hash
    from used_for
    left join hashed_content using (instance_id)
    left join main.instances using (instance_id)
)

select
    instance_id,
    list(split order by split) as splits
from described
where content_hash in (select content_hash from described group by all having count(distinct split) > 1)
group by all
order by instance_id
