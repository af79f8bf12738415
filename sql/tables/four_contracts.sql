-- Four contracts: every model under every runtime, where objects are injected too; with the wider of the intervals
with measured_cells as (
    select
        columns(['variant', 'base', 'visibility', 'header', 'bucket']),
        episode_metrics.measured_on,
        columns(['train_contract', 'runtime_contract', 'condition']),
        count(distinct episode_metrics.training_seed) as seed_count,
        count(*) as episode_count,
        avg(episode_metrics.total_tokens) as mean_tokens,
        100 * avg(episode_metrics.score) as score_pct,
        100 * avg(cast(episode_metrics.is_solved as integer)) as solved_pct,
        100 * avg(cast(episode_metrics.has_missing_name as integer)) as missing_name_pct,
        avg(episode_metrics.missing_name_count) as missing_names_per_episode
    from marts.episode_metrics
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.base <> 'teacher'
        and episode_metrics.is_counted
    group by all
),

-- a study that injects nothing has its table `cells`
injecting_groups as (
    select columns(['variant', 'base', 'visibility', 'header', 'bucket'])
    from measured_cells
    group by all
    having bool_or(measured_cells.runtime_contract like 'injected%')
),

widest_intervals as (
    select
        columns(['variant', 'base', 'visibility', 'header', 'bucket']),
        statistics.train_a as train_contract,
        statistics.runtime_a as runtime_contract,
        arg_max(statistics, high - low) filter (metric = 'total_tokens') as tokens,
        arg_max(statistics, high - low) filter (metric = 'score') as scores,
        arg_max(statistics, high - low) filter (metric = 'is_solved') as solved,
        arg_max(statistics, high - low) filter (metric = 'has_missing_name') as missing_names,
        arg_max(statistics, high - low) filter (metric = 'missing_name_count') as missing_name_counts
    from main.statistics
    where statistics.plan_digest = $plan_digest
        and statistics.analysis = 'mean'
        and statistics.interval_kind in ('percentile', 't over seeds')
    group by all
),

final as (
    select
        measured_cells.*,
        tokens.low as mean_tokens_low,
        tokens.high as mean_tokens_high,
        100 * scores.low as score_pct_low,
        100 * scores.high as score_pct_high,
        100 * solved.low as solved_pct_low,
        100 * solved.high as solved_pct_high,
        100 * missing_names.low as missing_name_pct_low,
        100 * missing_names.high as missing_name_pct_high,
        missing_name_counts.low as missing_names_per_episode_low,
        missing_name_counts.high as missing_names_per_episode_high
    from measured_cells
    inner join injecting_groups using (variant, base, visibility, header, bucket)
    left join widest_intervals
        on measured_cells.variant = widest_intervals.variant
        and measured_cells.base = widest_intervals.base
        and measured_cells.visibility = widest_intervals.visibility
        and measured_cells.header = widest_intervals.header
        and measured_cells.bucket = widest_intervals.bucket
        and measured_cells.runtime_contract = widest_intervals.runtime_contract
        and measured_cells.train_contract is not distinct from widest_intervals.train_contract
)

select * exclude (train_contract, runtime_contract) from final
order by
    variant,
    base desc,
    bucket,
    visibility desc,
    header desc,
    list_position(['persistent', 'stateless', 'injected', 'injected+persistent'], train_contract) nulls last,
    list_position(['persistent', 'stateless', 'injected', 'injected+persistent'], runtime_contract)
