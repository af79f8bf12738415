-- instances of training examples that stand, in a paired data set, at one position in one arm and not in the other
with retained as (
    select distinct run_id, variant, text_format, matching, position, contract, instance_id
    from main.training_examples
    where status = 'retained' and retention = 'paired'
),

-- every arm of a data set, so that a position of one arm alone is seen as well
other_arms as (
    select distinct run_id, variant, text_format, matching, contract as other_contract from retained
),

other_examples as (
    select
        * exclude (contract, instance_id),
        contract as other_contract,
        instance_id as other_instance_id
    from retained
)

select
    instance_id, position, contract, other_contract, other_instance_id
from retained
inner join other_arms using (run_id, variant, text_format, matching)
left join other_examples using (run_id, variant, text_format, matching, position, other_contract)
where contract <> other_contract and instance_id is distinct from other_instance_id
order by instance_id, position, contract, other_contract
