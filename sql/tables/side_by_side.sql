-- Side by side: scripts without a model, trained models and Qwen3-8B as published, one row each, by the same columns
with cells as (
    select
        measured_on, base, bucket, seed_count, episode_count, condition, score_pct, missing_name_episode_pct,
        ended_count
    from marts.evaluated_cells
    where plan_digest = $plan_digest
        and variant = 'main' and visibility = 'declared' and header = 'names'
        and condition in ('P->P', 'P->S', 'S->P', 'S->S')
),

our_cells as (
    select
        measured_on, base, bucket,
        max(seed_count) as seed_count,
        min(episode_count) as episodes_per_cell,
        cast(sum(episode_count - ended_count) as bigint) as unended_count,
        max(score_pct) filter (condition = 'P->P') as p_on_p_score_pct,
        max(score_pct) filter (condition = 'P->S') as p_on_s_score_pct,
        max(missing_name_episode_pct) filter (condition = 'P->S') as p_on_s_missing_name_pct,
        max(missing_name_episode_pct) filter (condition <> 'P->S') as most_missing_name_pct_elsewhere
    from cells
    group by all
),

-- the wider of the intervals: of resampled seeds and instances, and of Student's t over the seeds
ratios as (
    select
        base, bucket,
        if(analysis = 'interaction_ratio', 'interaction', train_a || ' on ' || runtime_a) as name,
        {
            estimate: max(estimate) filter (interval_kind = 'percentile'),
            low: arg_max(low, high - low),
            high: arg_max(high, high - low)
        } as ratio
    from main.statistics
    where plan_digest = $plan_digest
        and variant = 'main' and visibility = 'declared' and header = 'names'
        and metric = 'total_tokens'
        and staging.is_main_interval(interval_kind)
        and ((comparison_group = 'against_aligned' and analysis = 'ratio') or analysis = 'interaction_ratio')
    group by all
),

our_ratios as (
    select
        base, bucket,
        any_value(ratio) filter (name = 'persistent on stateless') as p_on_s,
        any_value(ratio) filter (name = 'stateless on persistent') as s_on_p,
        any_value(ratio) filter (name = 'stateless on stateless') as s_on_s,
        any_value(ratio) filter (name = 'interaction') as interaction
    from ratios
    group by all
),

-- the GPU of a study's runs, `a CPU` where they say that they had none; nights may run elsewhere
machines as (
    select
        coalesce(
            max(environment_json ->> '$.gpu'),
            if(bool_or(json_type(environment_json, '$.gpu') = 'NULL'), 'a CPU', null)
        ) as machine
    from main.runs
    where plan_digest = $plan_digest and flow = 'reproduce_study'
),

-- the pretrained model of a bucket: its tokenizer counts the tokens of the scripts
counting_models as (
    select bucket, regexp_replace(measured_on, '^\w+, ', '') as counted_by
    from our_cells
    where base = 'hub'
),

players as (
    select
        base, bucket,
        case
            when base = 'teacher' and counted_by is not null
                then split_part(measured_on, ', ', 1) || ', tokens of ' || counted_by || ': scripts without a model'
            when base = 'teacher' then measured_on || ': scripts without a model'
            when base = 'hub' then measured_on || coalesce(', on ' || machine, '') || ': hub'
            else measured_on || ': ' || base
        end || ', ' || bucket as player
    from our_cells
    cross join machines
    left join counting_models using (bucket)
),

ours as (
    select
        player,
        -- another base stands behind these, before the published rows
        coalesce(list_position(['teacher', 'scratch', 'common', 'both', 'hub'], base), 6) as place,
        our_cells.* exclude (measured_on),
        p_on_s.estimate as p_on_s_token_ratio,
        p_on_s.low as p_on_s_token_ratio_low,
        p_on_s.high as p_on_s_token_ratio_high,
        s_on_p.estimate as s_on_p_token_ratio,
        s_on_p.low as s_on_p_token_ratio_low,
        s_on_p.high as s_on_p_token_ratio_high,
        s_on_s.estimate as s_on_s_token_ratio,
        s_on_s.low as s_on_s_token_ratio_low,
        s_on_s.high as s_on_s_token_ratio_high,
        interaction.estimate as interaction_ratio,
        interaction.low as interaction_ratio_low,
        interaction.high as interaction_ratio_high
    from our_cells
    inner join players using (base, bucket)
    left join our_ratios using (base, bucket)
),

published_tokens as (
    select
        split,
        max(episode_count) as episodes_per_cell,
        max(score_pct) filter (train_semantics = 'persistent' and runtime_semantics = 'persistent') as p_on_p_score_pct,
        max(score_pct) filter (train_semantics = 'persistent' and runtime_semantics = 'stateless') as p_on_s_score_pct,
        max(missing_name_episode_pct) filter (train_semantics = 'persistent' and runtime_semantics = 'stateless')
            as p_on_s_missing_name_pct,
        max(missing_name_episode_pct) filter (train_semantics <> 'persistent' or runtime_semantics <> 'stateless')
            as most_missing_name_pct_elsewhere,
        max(mean_total_tokens) filter (train_semantics = 'persistent' and runtime_semantics = 'persistent') as pp,
        max(mean_total_tokens) filter (train_semantics = 'persistent' and runtime_semantics = 'stateless') as ps,
        max(mean_total_tokens) filter (train_semantics = 'stateless' and runtime_semantics = 'persistent') as sp,
        max(mean_total_tokens) filter (train_semantics = 'stateless' and runtime_semantics = 'stateless') as ss
    from staging.published_cells
    where model = 'sft'
    group by all
),

published as (
    select
        'Qwen3-8B, as published: ' || split as player,
        99 as place,
        1 as seed_count,
        episodes_per_cell,
        p_on_p_score_pct, p_on_s_score_pct, p_on_s_missing_name_pct, most_missing_name_pct_elsewhere,
        ps / pp as p_on_s_token_ratio,
        sp / pp as s_on_p_token_ratio,
        ss / pp as s_on_s_token_ratio,
        (pp / ps) / (sp / ss) as interaction_ratio
    from published_tokens
    -- beside its own task alone
    where not exists (from marts.episode_metrics where plan_digest = $plan_digest and family <> 'knapsack')
),

final as (
    select * from ours
    union all by name
    select * from published
)

select
    player, seed_count, episodes_per_cell, unended_count,
    p_on_p_score_pct, p_on_s_score_pct, p_on_s_missing_name_pct, most_missing_name_pct_elsewhere,
    p_on_s_token_ratio, p_on_s_token_ratio_low, p_on_s_token_ratio_high,
    s_on_p_token_ratio, s_on_p_token_ratio_low, s_on_p_token_ratio_high,
    s_on_s_token_ratio, s_on_s_token_ratio_low, s_on_s_token_ratio_high,
    interaction_ratio, interaction_ratio_low, interaction_ratio_high
from final
order by
    place, player
