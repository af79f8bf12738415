-- The mechanism, one row per setting: missing names, tokens over P->P, and the interaction; models beside their scripts
with crossed_cells as (
    select
        measured_on, variant, base, visibility, header, bucket,
        max(seed_count) as seed_count,
        min(episode_count) as episodes_per_cell,
        max(missing_name_episode_pct) filter (condition = 'P->S') as p_on_s_missing_name_pct,
        max(missing_name_episode_pct) filter (condition <> 'P->S') as most_missing_name_pct_elsewhere,
        max(episode_count - ended_count) filter (condition = 'P->S') as p_on_s_unended_count
    from marts.evaluated_cells
    where plan_digest = $plan_digest and model = 'sft' and condition in ('P->P', 'P->S', 'S->P', 'S->S')
    group by all
),

-- with several seeds there are two intervals of the interaction, of which the wider one leads
tested_settings as (
    select
        variant, base, visibility, header, bucket,
        max(estimate) filter (interval_kind = 'percentile' and train_a = 'persistent' and runtime_a = 'stateless')
            as p_on_s_token_ratio,
        max(estimate) filter (interval_kind = 'percentile' and train_a = 'stateless' and runtime_a = 'persistent')
            as s_on_p_token_ratio,
        max(estimate) filter (interval_kind = 'percentile' and train_a = 'stateless' and runtime_a = 'stateless')
            as s_on_s_token_ratio,
        max(estimate) filter (interval_kind = 'percentile' and analysis = 'interaction_ratio') as interaction_ratio,
        arg_max(statistics, high / low) filter (analysis = 'interaction_ratio') as wider,
        arg_min(statistics, high / low) filter (analysis = 'interaction_ratio') as narrower
    from main.statistics
    where plan_digest = $plan_digest
        and metric = 'total_tokens'
        and staging.is_main_interval(interval_kind)
        and ((comparison_group = 'against_aligned' and analysis = 'ratio') or analysis = 'interaction_ratio')
    group by all
),

-- the scripted teachers of the same setting, without a model
script_settings as (
    select
        variant, visibility, header, bucket,
        p_on_s_token_ratio as script_p_on_s_token_ratio,
        s_on_p_token_ratio as script_s_on_p_token_ratio,
        s_on_s_token_ratio as script_s_on_s_token_ratio,
        interaction_ratio as script_interaction_ratio
    from tested_settings
    where base = 'teacher'
)

select
    crossed_cells.*,
    p_on_s_token_ratio,
    ended_pairs.ratio_of_finished as p_on_s_ended_token_ratio,
    s_on_p_token_ratio, s_on_s_token_ratio, interaction_ratio,
    wider.low as interaction_ratio_low,
    wider.high as interaction_ratio_high,
    wider.interval_kind,
    if(narrower.interval_kind <> wider.interval_kind, narrower.estimate, null) as narrower_ratio,
    if(narrower.interval_kind <> wider.interval_kind, narrower.low, null) as narrower_ratio_low,
    if(narrower.interval_kind <> wider.interval_kind, narrower.high, null) as narrower_ratio_high,
    script_p_on_s_token_ratio, script_s_on_p_token_ratio, script_s_on_s_token_ratio, script_interaction_ratio,
    no_verdict_reason,
    no_pair_verdict_reason
from crossed_cells
left join (
    from marts.token_sensitivity
    where plan_digest = $plan_digest and condition = 'P->S'
) as ended_pairs using (variant, base, visibility, header, bucket)
left join tested_settings using (variant, base, visibility, header, bucket)
left join script_settings using (variant, visibility, header, bucket)
left join (
    from marts.judged_settings
    where plan_digest = $plan_digest
) as judged using (variant, base, visibility, header, bucket)
order by
    variant <> 'main', variant, staging.base_position(base) nulls last, bucket,
    visibility desc, header desc
