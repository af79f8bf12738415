-- Table 5: training sets and the difference of their arms; ours beside Gemini 3 Flash on Easy, in Qwen3 tokens
with plan_examples as (
    select
        training_examples.*,
        episode_metrics.injected_fault_count,
        {
            scale: episode_metrics.scale,
            model_name: episode_metrics.model_name,
            variant: training_examples.variant,
            dataset_id: training_examples.dataset_id,
            bucket: episode_metrics.bucket,
            published_split: episode_metrics.published_split,
            text_format: training_examples.text_format,
            retention: training_examples.retention,
            matching: training_examples.matching
        } as dataset
    from main.training_examples
    inner join marts.episode_metrics on training_examples.episode_id = episode_metrics.episode_id
    where episode_metrics.plan_digest = $plan_digest
),

measured_sets as (
    select
        dataset, contract,
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

published_metrics as (
    select
        table_5.* replace (if(table_5.metric = 'repetitive_recovery_loop', 'zombie_loop', table_5.metric) as metric)
    from published.table_5
    where table_5.section <> 'config'
),

reasons as (
    select reason as metric from plan_examples where status = 'skipped'
    union
    select metric from published_metrics where section = 'skip_reason'
),

all_metrics as (
    select *, if(metric like '%tokens', 'tokens', 'yield') as section
    from (
        unpivot (select dataset, contract, columns(* exclude (dataset, contract))::double from measured_sets)
        on columns(* exclude (dataset, contract))
        into name metric value measured
    )
    union all by name
    -- a set without a trace of some reason has none of them, which stands beside the paper's number as well
    select
        dataset, contract, metric,
        count(*) filter (status = 'skipped' and plan_examples.reason = reasons.metric) as measured,
        'skip_reason' as section
    from plan_examples
    cross join reasons
    group by all
    union all by name
    -- an arm shares instances with the other one, whichever of the two the row names first
    select distinct
        dataset, plan_examples.contract,
        'shared_instances' as metric,
        shared_count as measured,
        'yield' as section
    from plan_examples
    inner join main.training_overlaps
        on plan_examples.dataset_id = training_overlaps.dataset_id
        and plan_examples.contract in (training_overlaps.contract, other_contract)
),

paired_contracts as (
    select
        dataset, section, metric,
        max(measured) filter (contract = 'persistent') as persistent,
        max(measured) filter (contract = 'stateless') as stateless
    from all_metrics
    group by all
)

select
    dataset.* exclude (scale, model_name, published_split),
    ours.section, ours.metric, measured_on, ours.persistent, ours.stateless,
    ours.stateless - ours.persistent as stateless_minus_persistent,
    theirs.persistent as gemini_3_flash_easy_persistent,
    theirs.stateless as gemini_3_flash_easy_stateless,
    if(is_as_published, ours.persistent - theirs.persistent, null) as persistent_difference,
    if(is_as_published, ours.stateless - theirs.stateless, null) as stateless_difference
from paired_contracts as ours
inner join marts.teacher_labels
    on dataset.scale = teacher_labels.scale and dataset.model_name = teacher_labels.model_name
left join published_metrics as theirs
    on ours.metric = theirs.metric and dataset.variant = 'main' and dataset.published_split = 'easy'
order by
    dataset.variant, dataset.dataset_id, dataset.bucket, dataset.text_format, dataset.retention, dataset.matching,
    section desc, metric, measured_on
