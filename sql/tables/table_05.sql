-- Table 5: training sets and the difference of their arms; ours beside Gemini 3 Flash on Easy, in Qwen3 tokens
with plan_examples as (
    select
        training_examples.*,
        episode_metrics.injected_fault_count,
        episode_metrics.scale,
        episode_metrics.model_name,
        episode_metrics.bucket,
        episode_metrics.published_split
    from main.training_examples
    inner join marts.episode_metrics on training_examples.episode_id = episode_metrics.episode_id
    where episode_metrics.plan_digest = $plan_digest
),

measured_sets as (
    select
        plan_examples.scale,
        plan_examples.model_name,
        plan_examples.variant,
        plan_examples.dataset_id,
        plan_examples.bucket,
        plan_examples.published_split,
        plan_examples.text_format,
        plan_examples.retention,
        plan_examples.matching,
        plan_examples.contract,
        count(*) as traces_available,
        count(*) filter (status <> 'unprocessed') as processed_until_cap,
        count(*) filter (status = 'retained') as retained,
        count(*) filter (status = 'skipped') as skipped_within_processed,
        count(*) filter (status = 'unprocessed') as unprocessed_due_to_cap,
        100 * count(*) filter (status = 'retained') / nullif(count(*) filter (status <> 'unprocessed'), 0)
            as retained_over_processed,
        100 * count(*) filter (status = 'retained') / count(*) as retained_over_available,
        count(*) filter (is_truncated) as truncated,
        min(token_count) filter (status = 'retained') as min_tokens,
        max(token_count) filter (status = 'retained') as max_tokens,
        avg(token_count) filter (status = 'retained') as mean_tokens,
        coalesce(sum(token_count) filter (status = 'retained'), 0) as total_tokens,
        sum(assistant_token_count) filter (status = 'retained') as total_assistant_tokens,
        -- arms that are matched by the paper's count of tokens differ in what a pass of the training sees
        sum(sequence_token_count) filter (status = 'retained') as total_sequence_tokens,
        -- arms that are matched by tokens differ in them
        coalesce(sum(injected_fault_count) filter (status = 'retained'), 0) as injected_faults
    from plan_examples
    group by all
),

unpivoted_metrics as (
    unpivot (select columns(*)::varchar from measured_sets)
    on columns(
        * exclude (
            scale, model_name, variant, dataset_id, bucket, published_split, text_format, retention, matching, contract
        )
    )
    into name metric value measured
),

published_metrics as (
    select
        table5.* replace (if(table5.metric = 'repetitive_recovery_loop', 'zombie_loop', table5.metric) as metric)
    from published.table5
    where table5.section <> 'config'
),

reasons as (
    select plan_examples.reason as metric
    from plan_examples
    where plan_examples.status = 'skipped'
    union
    select published_metrics.metric
    from published_metrics
    where published_metrics.section = 'skip_reason'
),

-- a set without a trace of some reason has none of them, which stands beside the paper's number as well
counted_reasons as (
    select
        plan_examples.scale,
        plan_examples.model_name,
        plan_examples.variant,
        plan_examples.dataset_id,
        plan_examples.bucket,
        plan_examples.published_split,
        plan_examples.text_format,
        plan_examples.retention,
        plan_examples.matching,
        plan_examples.contract,
        reasons.metric,
        (count(*) filter (plan_examples.status = 'skipped' and plan_examples.reason = reasons.metric))::varchar
            as measured
    from plan_examples
    cross join reasons
    group by all
),

-- an arm shares instances with the other one, whichever of the two the row names first
shared_instances as (
    select distinct
        plan_examples.scale,
        plan_examples.model_name,
        plan_examples.variant,
        plan_examples.dataset_id,
        plan_examples.bucket,
        plan_examples.published_split,
        plan_examples.text_format,
        plan_examples.retention,
        plan_examples.matching,
        plan_examples.contract,
        'shared_instances' as metric,
        training_overlaps.shared_count::varchar as measured
    from plan_examples
    inner join main.training_overlaps
        on plan_examples.dataset_id = training_overlaps.dataset_id
        and plan_examples.contract in (training_overlaps.contract, training_overlaps.other_contract)
),

all_metrics as (
    select *, if(metric like '%tokens', 'tokens', 'yield') as section
    from unpivoted_metrics
    union all by name
    select *, 'skip_reason' as section
    from counted_reasons
    union all by name
    select *, 'yield' as section
    from shared_instances
),

paired_contracts as (
    select
        all_metrics.scale,
        all_metrics.model_name,
        all_metrics.variant,
        all_metrics.dataset_id,
        all_metrics.bucket,
        all_metrics.published_split,
        all_metrics.text_format,
        all_metrics.retention,
        all_metrics.matching,
        all_metrics.section,
        all_metrics.metric,
        max(all_metrics.measured::double) filter (all_metrics.contract = 'persistent') as persistent,
        max(all_metrics.measured::double) filter (all_metrics.contract = 'stateless') as stateless
    from all_metrics
    group by all
),

final as (
    select
        paired_contracts.variant,
        paired_contracts.dataset_id,
        paired_contracts.bucket,
        paired_contracts.text_format,
        paired_contracts.retention,
        paired_contracts.matching,
        paired_contracts.section,
        paired_contracts.metric,
        teacher_labels.measured_on,
        paired_contracts.persistent,
        paired_contracts.stateless,
        paired_contracts.stateless - paired_contracts.persistent as stateless_minus_persistent,
        published_metrics.persistent as gemini_3_flash_easy_persistent,
        published_metrics.stateless as gemini_3_flash_easy_stateless,
        if(teacher_labels.is_as_published, paired_contracts.persistent - published_metrics.persistent, null)
            as persistent_difference,
        if(teacher_labels.is_as_published, paired_contracts.stateless - published_metrics.stateless, null)
            as stateless_difference
    from paired_contracts
    inner join marts.teacher_labels using (scale, model_name)
    left join published_metrics
        on paired_contracts.metric = published_metrics.metric
        and paired_contracts.variant = 'main'
        and paired_contracts.published_split = 'easy'
)

select * from final
order by variant, dataset_id, bucket, text_format, retention, matching, section desc, metric, measured_on
