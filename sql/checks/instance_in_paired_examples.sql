-- instances of training examples that stand, in a paired data set, at one position in one arm and not in the other
with retained as (
    select distinct run_id, variant, text_format, matching, position, contract, instance_id
    from main.training_examples
    where status = 'retained' and retention = 'paired'
),

arms as (
    select distinct * exclude (position, instance_id) from retained
),

-- every data set's positions by every arm that it has, so that a position of one arm alone is seen from both
wanted as (
    select distinct retained.* exclude (contract, instance_id), arms.contract
    from retained
    inner join arms using (run_id, variant, text_format, matching)
),

filled as (
    select wanted.*, retained.instance_id
    from wanted
    left join retained using (run_id, variant, text_format, matching, position, contract)
)

select
    first_arm.instance_id, first_arm.position, first_arm.contract,
    other_arm.contract as other_contract,
    other_arm.instance_id as other_instance_id
from filled as first_arm
inner join filled as other_arm using (run_id, variant, text_format, matching, position)
where first_arm.contract <> other_arm.contract
    and first_arm.instance_id is not null
    and first_arm.instance_id is distinct from other_arm.instance_id
order by instance_id, position, contract, other_contract
