-- Were persistence only a scaffold of the runtime (section 5): three predictions, 2 and 3 rebuilt; ours and Qwen3-8B's
-- Of the paper's three, only the first reached us in words; 2 and 3 are rebuilt from what its results set against them.
with predictions (prediction, subject, statement, wording, is_one_sided) as (
    values
        (1, 'tokens', 'a persistent runtime saves both adapters about the same tokens', 'stated in section 5', false),
        (2, 'missing names', 'in a stateless runtime, training with persistence adds no missing-name errors',
         'rebuilt from section 4.3', true),
        (3, 'state use', 'in a persistent runtime, both adapters use kept state alike',
         'rebuilt from appendices F and G', false)
),

-- the paper's cells and ours in one shape; its Table 3 is of Hard alone: Easy keeps its row, without a verdict
all_cells as (
    select
        'published, Qwen3-8B' as measured_on,
        variant,
        'hub' as base,
        visibility, header,
        split as bucket,
        upper(train_semantics[1]) || '->' || upper(runtime_semantics[1]) as condition,
        mean_total_tokens, missing_name_episode_pct, state_utilization
    from staging.published_cells
    cross join staging.published_setting
    where model = 'sft'
    union all by name
    select
        variant, base, visibility, header, bucket, condition, measured_on,
        mean_total_tokens, missing_name_episode_pct, state_utilization
    from marts.evaluated_cells
    where plan_digest = $plan_digest and model = 'sft'
),

measured_groups as (
    select
        variant, base, visibility, header, bucket, measured_on,
        max(all_cells) filter (condition = 'P->P') as pp,
        max(all_cells) filter (condition = 'P->S') as ps,
        max(all_cells) filter (condition = 'S->P') as sp,
        max(all_cells) filter (condition = 'S->S') as ss
    from all_cells
    group by all
),

-- savings of S minus savings of P; seeds and instances are resampled, as McNemar's pairs of several seeds are dependent
tested_groups as (
    select
        variant, base, visibility, header, bucket,
        max(statistics) filter (analysis = 'interaction' and metric = 'total_tokens') as saving,
        max(statistics) filter (analysis = 'difference' and metric = 'has_missing_name' and runtime_a = 'stateless')
            as missing,
        max(statistics) filter (analysis = 'difference' and metric = 'state_utilization' and runtime_a = 'persistent')
            as state_use
    from main.statistics
    where plan_digest = $plan_digest
        and (comparison_group = 'fixed_runtime' or analysis = 'interaction')
        and interval_kind = 'percentile'
    group by all
),

all_values as (
    select
        variant, base, visibility, header, bucket, measured_on,
        unnest(
            [
                row(
                    1, ss.mean_total_tokens - sp.mean_total_tokens, ps.mean_total_tokens - pp.mean_total_tokens,
                    saving.low, saving.high
                ),
                row(
                    2, ss.missing_name_episode_pct, ps.missing_name_episode_pct,
                    100 * missing.low, 100 * missing.high
                ),
                row(3, sp.state_utilization, pp.state_utilization, state_use.low, state_use.high)
            ]::struct(
                prediction integer, trained_stateless double, trained_persistent double,
                difference_low double, difference_high double
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
        predictions.* exclude (prediction),
        if(
            is_one_sided,
            'refuted if the persistent adapter has more, and the interval, if any, is above 0',
            'refuted if the adapters differ by half the smaller value or more, and the interval, if any, excludes 0'
        ) as rule,
        if(
            is_one_sided,
            trained_persistent > trained_stateless,
            trained_persistent <> trained_stateless
            and abs(trained_persistent - trained_stateless)
            >= least(abs(trained_persistent), abs(trained_stateless)) / 2
        ) as values_refute,
        measured_on = 'published, Qwen3-8B' or difference_low > 0 or (difference_high < 0 and not is_one_sided)
            as interval_refutes
    from all_values
    inner join predictions using (prediction)
)

select
    measured_on, variant, base, visibility, header, bucket, prediction, subject, statement, wording,
    trained_stateless, trained_persistent, difference_low, difference_high, rule,
    case
        -- one of the two may settle it alone, but without both there is no verdict
        when values_refute is not null and interval_refutes is not null
            then if(values_refute and interval_refutes, 'refuted', 'not refuted')
        when measured_on = 'published, Qwen3-8B' then 'not published'
        else 'no statistics'
    end as verdict
from judged
order by measured_on = 'published, Qwen3-8B', variant, base, visibility, header, bucket, prediction
