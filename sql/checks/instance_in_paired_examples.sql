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

arms as (
    select distinct
        retained.run_id,
        retained.variant,
        retained.text_format,
        retained.matching,
        retained.contract
    from retained
),

-- every data set's positions by every arm that it has, so that a position of one arm alone is seen from both
wanted as (
    select distinct
        positions.* exclude (contract, instance_id),
        arms.contract
    from retained as positions
    inner join arms
        on positions.run_id = arms.run_id
        and positions.variant = arms.variant
        and positions.text_format = arms.text_format
        and positions.matching = arms.matching
),

filled as (
    select
        wanted.*,
        retained.instance_id
    from wanted
    left join retained
        on wanted.run_id = retained.run_id
        and wanted.variant = retained.variant
        and wanted.text_format = retained.text_format
        and wanted.matching = retained.matching
        and wanted.position = retained.position
        and wanted.contract = retained.contract
)

select
    first_arm.instance_id,
    first_arm.position,
    first_arm.contract,
    other_arm.contract as other_contract,
    other_arm.instance_id as other_instance_id
from filled as first_arm
inner join filled as other_arm
    on first_arm.run_id = other_arm.run_id
    and first_arm.variant = other_arm.variant
    and first_arm.text_format = other_arm.text_format
    and first_arm.matching = other_arm.matching
    and first_arm.position = other_arm.position
    and first_arm.contract <> other_arm.contract
where first_arm.instance_id is not null
and first_arm.instance_id is distinct from other_arm.instance_id
order by instance_id, position, contract, other_contract
