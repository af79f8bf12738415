-- CaveAgent, Table 2: BFCL, right tasks in percent by the AST rule; the published ones compare executed results
with published_shares as (
    select
        if(cave_table2.arm = 'caveagent', 'persistent_code', 'json') as arm,
        cave_table2.model,
        100 * avg(cave_table2.simple_correct / cave_table2.simple_total) as simple_python,
        100 * avg(cave_table2.multiple_correct / cave_table2.multiple_total) as multiple,
        100 * avg(cave_table2.parallel_correct / cave_table2.parallel_total) as parallel,
        100 * avg(cave_table2.parallel_multiple_correct / cave_table2.parallel_multiple_total) as parallel_multiple
    from published.cave_table2
    group by all
),

published_tiers as (
    unpivot published_shares
    on simple_python, multiple, parallel, parallel_multiple
    into name tier value passed_pct
),

told_tiers as (
    select
        tier, arm,
        string_agg(
            published_tiers.model || ' ' || round(published_tiers.passed_pct, 1), ', '
            order by published_tiers.model
        ) as published_passed_pct
    from published_tiers
    group by all
),

measured as (
    select *
    from staging.measured_cave_arms
    where measured_cave_arms.plan_digest = $plan_digest
        and measured_cave_arms.suite = 'bfcl'
        and measured_cave_arms.tier is not null
)

select
    tier as category, arm, measured.instruction, measured.played_by,
    measured.turn_count as task_count,
    measured.replicate_count, measured.passed_pct, told_tiers.published_passed_pct
from told_tiers
full join measured using (tier, arm)
order by category, arm, instruction, played_by
