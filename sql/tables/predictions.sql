-- Section 5 predicts three results for the case that models do not learn persistence.
-- The table judges them, and a fourth prediction of this project.
with predictions (prediction, subject, metric, statement, source, a, b, is_one_sided) as (
    values
        (1, 'tokens', 'total_tokens', 'a persistent runtime saves both adapters about the same tokens', 'section 5',
         'S: S->S - S->P', 'P: P->S - P->P', false),
        (2, 'missing names', 'has_missing_name',
         'shown the stateless contract, a persistent adapter moves to it without systematic missing names', 'section 5',
         'S->S', 'P->S', true),
        (3, 'base model', 'score', 'the base benefits materially from a persistent runtime', 'section 5',
         'base->S', 'base->P', true),
        (
            null, 'state use', 'state_utilization', 'in a persistent runtime, both adapters use kept state alike',
            'ours', 'S->P', 'P->P', false
        )
),

-- the paper's cells and ours in one shape; its Table 3 is of Hard alone: Easy keeps its row, without a verdict
all_cells as (
    select
        'published, Qwen3-8B' as measured_on,
        variant,
        'hub' as base,
        visibility, header,
        split as bucket,
        coalesce(upper(train_semantics[1]), 'base') || '->' || upper(runtime_semantics[1]) as cell,
        episode_count as instance_count, mean_total_tokens, missing_name_episode_pct, state_utilization, score_pct
    from staging.published_cells
    cross join staging.published_setting
    union all by name
    select
        variant, base, visibility, header, bucket, measured_on,
        if(model = 'base', 'base->' || upper(runtime_contract[1]), condition) as cell,
        instance_count, mean_total_tokens, missing_name_episode_pct, state_utilization, score_pct
    from marts.evaluated_cells
    where plan_digest = $plan_digest and model in ('sft', 'base')
),

measured_groups as (
    select
        variant, base, visibility, header, bucket, measured_on,
        max(all_cells) filter (cell = 'P->P') as pp,
        max(all_cells) filter (cell = 'P->S') as ps,
        max(all_cells) filter (cell = 'S->P') as sp,
        max(all_cells) filter (cell = 'S->S') as ss,
        max(all_cells) filter (cell = 'base->P') as bp,
        max(all_cells) filter (cell = 'base->S') as bs
    from all_cells
    group by all
),

-- b minus a; seeds and instances are resampled, as McNemar's pairs of several seeds are dependent
tested_groups as (
    select
        variant, base, visibility, header, bucket,
        max(statistics) filter (analysis = 'interaction' and metric = 'total_tokens') as saving,
        max(statistics) filter (comparison_group = 'fixed_runtime' and metric = 'has_missing_name') as missing,
        max(statistics) filter (comparison_group = 'fixed_runtime' and metric = 'state_utilization') as state_use,
        max(statistics) filter (comparison_group = 'base_on_runtimes' and metric = 'score') as benefit
    from main.statistics
    where plan_digest = $plan_digest
        and interval_kind = 'percentile'
        and (
            analysis = 'interaction'
            or (
                analysis = 'difference'
                and (
                    comparison_group = 'base_on_runtimes'
                    or (metric = 'has_missing_name' and runtime_a = 'stateless')
                    or (metric = 'state_utilization' and runtime_a = 'persistent')
                )
            )
        )
    group by all
),

all_values as (
    select
        variant, base, visibility, header, bucket, measured_on,
        bp.instance_count as base_instance_count,
        unnest(
            [
                row(
                    'tokens', ss.mean_total_tokens - sp.mean_total_tokens, ps.mean_total_tokens - pp.mean_total_tokens,
                    saving.low, saving.high
                ),
                row(
                    'missing names', ss.missing_name_episode_pct, ps.missing_name_episode_pct,
                    100 * missing.low, 100 * missing.high
                ),
                row('base model', bs.score_pct, bp.score_pct, 100 * benefit.low, 100 * benefit.high),
                row('state use', sp.state_utilization, pp.state_utilization, state_use.low, state_use.high)
            ]::struct(
                subject varchar, value_a double, value_b double, difference_low double, difference_high double
            )[],
            recursive := true
        )
    from measured_groups
    left join tested_groups using (variant, base, visibility, header, bucket)
),

-- one rule for ours and the published numbers, which have no interval
judged as (
    select
        all_values.*,
        predictions.* exclude (subject),
        measured_on = 'published, Qwen3-8B' as is_published,
        case
            when subject = 'base model'
                then 'refuted if b is not 5 points above a, and the interval, if any, ends below 5'
            when is_one_sided then 'refuted if b is above a, and the interval, if any, is above 0'
            else 'refuted if a and b differ by half the smaller value or more, and the interval, if any, excludes 0'
        end as rule,
        case
            when subject = 'base model' then value_b - value_a < 5
            when is_one_sided then value_b > value_a
            else value_a <> value_b and abs(value_b - value_a) >= least(abs(value_b), abs(value_a)) / 2
        end as values_refute,
        case
            when is_published then true
            when subject = 'base model' then difference_high < 5
            else difference_low > 0 or (difference_high < 0 and not is_one_sided)
        end as interval_refutes
    from all_values
    inner join predictions using (subject)
    -- most settings have no rows of the base
    where subject <> 'base model' or coalesce(value_a, value_b) is not null
)

select
    measured_on, variant, base, visibility, header, bucket, prediction, subject, statement, source,
    a, b, value_a, value_b, difference_low, difference_high, rule,
    case
        when is_published then if(values_refute is null, 'not published', if(values_refute, 'refuted', 'not refuted'))
        when subject = 'base model' and base = 'scratch' then 'no verdict: the base is untrained'
        when subject = 'missing names' and visibility <> 'declared' then 'no verdict: the contract is not shown'
        when measured_on like 'smoke%' then 'no verdict: smoke scale, numbers without meaning'
        when subject = 'base model' and coalesce(base_instance_count, 0) < instance_minimum
            then 'no verdict: ' || coalesce(base_instance_count, 0) || ' instances of the base, a verdict needs '
                || instance_minimum
        when subject <> 'base model' and reason is not null then 'no verdict: ' || reason
        -- one of the two may settle it alone, but without both there is no verdict
        when values_refute is null or interval_refutes is null then 'no statistics'
        else if(values_refute and interval_refutes, 'refuted', 'not refuted')
    end as verdict
from judged
cross join staging.verdict_minimums
left join (
    from marts.judged_settings
    where plan_digest = $plan_digest
) as judged_settings using (variant, base, visibility, header, bucket)
cross join lateral (
    select if(metric in (from staging.endless_metrics), no_verdict_reason, no_pair_verdict_reason) as reason
) as reasons
order by measured_on = 'published, Qwen3-8B', variant, base, visibility, header, bucket, prediction nulls last
