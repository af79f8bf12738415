-- Were persistence only a scaffold of the runtime (section 5): three predictions, 2 and 3 rebuilt; ours and Qwen3-8B's
-- Of the paper's three, only the first reached us in words; 2 and 3 are rebuilt from what its results set against them.
with predictions as (
    select *
    from (
        values
            (
                1,
                'tokens',
                'a persistent runtime saves both adapters about the same tokens',
                'stated in section 5',
                'alike'
            ),
            (
                2,
                'missing names',
                'in a stateless runtime, training with persistence adds no missing-name errors',
                'rebuilt from section 4.3',
                'none added'
            ),
            (
                3,
                'state use',
                'in a persistent runtime, both adapters use kept state alike',
                'rebuilt from appendices F and G',
                'alike'
            )
    ) as listed (prediction, subject, statement, wording, rule_name)
),

-- one rule for ours and the published numbers, which have no interval
rules as (
    select *
    from (
        values
            (
                'alike',
                'refuted if the adapters differ by half the smaller value or more, and the interval, if any, excludes 0'
            ),
            ('none added', 'refuted if the persistent adapter has more, and the interval, if any, is above 0')
    ) as listed (rule_name, rule)
),

published_cells as (
    select
        table2.split,
        max(mean_total_tokens) filter (train_semantics = 'persistent' and runtime_semantics = 'persistent') as pp,
        max(mean_total_tokens) filter (train_semantics = 'persistent' and runtime_semantics = 'stateless') as ps,
        max(mean_total_tokens) filter (train_semantics = 'stateless' and runtime_semantics = 'persistent') as sp,
        max(mean_total_tokens) filter (train_semantics = 'stateless' and runtime_semantics = 'stateless') as ss
    from published.table2
    group by table2.split
),

published_values as (
    select
        1 as prediction,
        published_cells.split,
        cast(published_cells.ss - published_cells.sp as double) as trained_stateless,
        cast(published_cells.ps - published_cells.pp as double) as trained_persistent
    from published_cells
    union all by name
    -- Table 3 is of Hard alone: Easy keeps its row, without a verdict
    select
        2 as prediction,
        published_cells.split,
        max(table3.pct_episodes_unresolved_ref) filter (table3.train_semantics = 'stateless') as trained_stateless,
        max(table3.pct_episodes_unresolved_ref) filter (table3.train_semantics = 'persistent') as trained_persistent
    from published_cells
    left join published.table3
        on published_cells.split = table3.split and table3.runtime_semantics = 'stateless'
    group by published_cells.split
    union all by name
    select
        3 as prediction,
        published_behaviour.split,
        max(state_utilization) filter (train_semantics = 'stateless') as trained_stateless,
        max(state_utilization) filter (train_semantics = 'persistent') as trained_persistent
    from staging.published_behaviour
    where published_behaviour.runtime_semantics = 'persistent'
    group by published_behaviour.split
),

measured_groups as (
    select
        evaluated_cells.measured_on,
        evaluated_cells.variant,
        evaluated_cells.base,
        evaluated_cells.visibility,
        evaluated_cells.header,
        evaluated_cells.bucket,
        max(mean_total_tokens) filter (condition = 'S->S')
        - max(mean_total_tokens) filter (condition = 'S->P') as saving_stateless,
        max(mean_total_tokens) filter (condition = 'P->S')
        - max(mean_total_tokens) filter (condition = 'P->P') as saving_persistent,
        max(missing_name_episode_pct) filter (condition = 'S->S') as missing_stateless,
        max(missing_name_episode_pct) filter (condition = 'P->S') as missing_persistent,
        max(state_utilization) filter (condition = 'S->P') as use_stateless,
        max(state_utilization) filter (condition = 'P->P') as use_persistent
    from marts.evaluated_cells
    where evaluated_cells.plan_digest = $plan_digest
        and evaluated_cells.model = 'sft'
    group by all
),

-- savings of S minus savings of P; seeds and instances are resampled, as McNemar's pairs of several seeds are dependent
tested_groups as (
    select
        statistics.variant,
        statistics.base,
        statistics.visibility,
        statistics.header,
        statistics.bucket,
        max(statistics) filter (analysis = 'interaction' and metric = 'total_tokens') as saving,
        max(statistics) filter (
            analysis = 'difference' and metric = 'has_missing_name' and runtime_a = 'stateless'
        ) as missing,
        max(statistics) filter (
            analysis = 'difference' and metric = 'state_utilization' and runtime_a = 'persistent'
        ) as state_use
    from main.statistics
    where statistics.plan_digest = $plan_digest
        and (statistics.comparison_group = 'fixed_runtime' or statistics.analysis = 'interaction')
        and statistics.interval_kind = 'percentile'
    group by all
),

all_values as (
    select
        measured_groups.measured_on,
        measured_groups.variant,
        measured_groups.base,
        measured_groups.visibility,
        measured_groups.header,
        measured_groups.bucket,
        true as has_interval,
        unnest(
            [
                {
                    prediction: 1,
                    trained_stateless: saving_stateless,
                    trained_persistent: saving_persistent,
                    difference_low: saving.low,
                    difference_high: saving.high
                },
                {
                    prediction: 2,
                    trained_stateless: missing_stateless,
                    trained_persistent: missing_persistent,
                    difference_low: 100 * missing.low,
                    difference_high: 100 * missing.high
                },
                {
                    prediction: 3,
                    trained_stateless: use_stateless,
                    trained_persistent: use_persistent,
                    difference_low: state_use.low,
                    difference_high: state_use.high
                }
            ],
            recursive := true
        )
    from measured_groups
    left join tested_groups using (variant, base, visibility, header, bucket)
    union all by name
    select
        published_values.* exclude (split),
        'published, Qwen3-8B' as measured_on,
        published_setting.*,
        'hub' as base,
        published_values.split as bucket,
        false as has_interval
    from published_values
    cross join staging.published_setting
),

judged as (
    select
        all_values.*,
        predictions.* exclude (prediction),
        rules.rule,
        case
            when rules.rule_name = 'none added' then trained_persistent > trained_stateless
            else
                trained_persistent <> trained_stateless
                and abs(trained_persistent - trained_stateless)
                >= least(abs(trained_persistent), abs(trained_stateless)) / 2
        end as values_refute,
        case
            when not has_interval then true
            when rules.rule_name = 'none added' then difference_low > 0
            else difference_low > 0 or difference_high < 0
        end as interval_refutes,
        -- one of the two may settle it alone, but without both there is no verdict
        case
            when values_refute is not null and interval_refutes is not null then values_refute and interval_refutes
        end as is_refuted
    from all_values
    inner join predictions on all_values.prediction = predictions.prediction
    inner join rules on predictions.rule_name = rules.rule_name
),

final as (
    select
        judged.measured_on,
        judged.variant,
        judged.base,
        judged.visibility,
        judged.header,
        judged.bucket,
        judged.prediction,
        judged.subject,
        judged.statement,
        judged.wording,
        judged.trained_stateless,
        judged.trained_persistent,
        judged.difference_low,
        judged.difference_high,
        judged.rule,
        case
            when judged.is_refuted then 'refuted'
            when not judged.is_refuted then 'not refuted'
            when judged.measured_on = 'published, Qwen3-8B' then 'not published'
            else 'no statistics'
        end as verdict
    from judged
)

select * from final
order by measured_on = 'published, Qwen3-8B', variant, base, visibility, header, bucket, prediction
