-- CaveAgent, Table 2: BFCL, right tasks in percent by the AST rule; the published ones compare executed results
with published_shares as (
    select
        if(arm = 'caveagent', 'persistent_code', 'json') as arm,
        model,
        100 * avg(simple_correct / simple_total) as simple_python,
        100 * avg(multiple_correct / multiple_total) as multiple,
        100 * avg(parallel_correct / parallel_total) as parallel,
        100 * avg(parallel_multiple_correct / parallel_multiple_total) as parallel_multiple
    from published.cave_table_2
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
        string_agg(model || ' ' || round(passed_pct, 1), ', ' order by model) as published_passed_pct
    from published_tiers
    group by all
),

measured as (
    from staging.measured_cave_arms
    where plan_digest = $plan_digest and suite = 'bfcl' and tier is not null
)

select
    tier as category, arm, instruction, played_by,
    turn_count as task_count,
    replicate_count, passed_pct, published_passed_pct
from told_tiers
full join measured using (tier, arm)
order by category, arm, instruction, played_by
