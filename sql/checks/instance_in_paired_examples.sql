-- instances of training examples that stand, in a paired data set, at one position in one arm and not in the other
with retained as (
    select distinct
        training_examples.run_id,
        training_examples.variant,
        training_examples.text_format,
        training_examples.matching,
        training_examples.position,
        training_examples.contract,
        training_examples.instance_id
    from main.training_examples
    where training_examples.status = 'retained'
    and training_examples.retention = 'paired'
),

final as (
    select
        first_arm.instance_id,
        first_arm.position,
        first_arm.contract,
        other_arm.contract as other_contract,
        other_arm.instance_id as other_instance_id
    from retained as first_arm
    inner join retained as other_arm
        on first_arm.run_id = other_arm.run_id
        and first_arm.variant = other_arm.variant
        and first_arm.text_format = other_arm.text_format
        and first_arm.matching = other_arm.matching
        and first_arm.position = other_arm.position
        and first_arm.contract <> other_arm.contract
    where first_arm.instance_id <> other_arm.instance_id
)

select * from final
order by instance_id, position, contract, other_contract
