-- The mechanism, one row per setting: tokens over P->P are those of P->S (of pairs that ended) / S->S / S->P
with described_variants as (
    select *
    from (
        values
            ('main', null),
            ('a-a', 'every instance again and again'),
            ('cap-binding', 'a cap that binds'),
            ('costly', 'mistakes cost score'),
            ('half-training', 'half of the training'),
            ('header-none', 'no names in the header'),
            ('no-faults', 'no faults in training'),
            ('no-table', 'no table printed by the stateless teacher'),
            ('no-variation', 'no variation of wording and header'),
            ('quarter-adapter', 'a quarter of the adapter''s training'),
            ('quarter-training', 'a quarter of the training'),
            ('shuffled-labels', 'shuffled labels'),
            ('sixteenth-adapter', 'a sixteenth of the adapter''s training')
    ) as described (variant, words)
),

trained_episodes as (
    select *
    from marts.episode_metrics
    where episode_metrics.plan_digest = $plan_digest
        and episode_metrics.purpose = 'evaluation'
        and episode_metrics.train_contract is not null
        and episode_metrics.is_counted
),

measured_cells as (
    select
        trained_episodes.measured_on,
        trained_episodes.variant,
        trained_episodes.base,
        trained_episodes.visibility,
        trained_episodes.header,
        trained_episodes.bucket,
        trained_episodes.condition,
        replace(trained_episodes.condition, '->', '→') as cell,
        count(*) as episode_count,
        count(distinct trained_episodes.training_seed) as seed_count,
        cast(round(100 * avg(cast(trained_episodes.has_missing_name as integer))) as bigint) as missing_pct,
        count(*) filter (trained_episodes.finish_category <> 'normal') as unfinished_count
    from trained_episodes
    group by all
),

crossed_cells as (
    select
        measured_cells.measured_on,
        measured_cells.variant,
        measured_cells.base,
        measured_cells.visibility,
        measured_cells.header,
        measured_cells.bucket,
        max(measured_cells.seed_count) as seed_count,
        max(measured_cells.episode_count) as most_episodes,
        string_agg(measured_cells.cell || ' ' || measured_cells.episode_count, ', ' order by measured_cells.cell)
            as every_count,
        min(measured_cells.episode_count) = most_episodes as are_equally_many,
        max(measured_cells.missing_pct) filter (measured_cells.condition = 'P->S') as missing_pct,
        string_agg(measured_cells.cell || ' ' || measured_cells.missing_pct || ' %', ', ' order by measured_cells.cell)
            filter (measured_cells.condition <> 'P->S' and measured_cells.missing_pct > 0) as missing_elsewhere,
        max(measured_cells.unfinished_count) filter (measured_cells.condition = 'P->S') as unfinished_count
    from measured_cells
    group by all
),

ended_pairs as (
    select
        mismatched.variant,
        mismatched.base,
        mismatched.visibility,
        mismatched.header,
        mismatched.bucket,
        avg(mismatched.total_tokens) / avg(aligned.total_tokens) as token_ratio
    from trained_episodes as mismatched
    inner join trained_episodes as aligned
        -- imported episodes have no training seed
        on (
            mismatched.variant, mismatched.base, mismatched.visibility, mismatched.header, mismatched.bucket,
            mismatched.instance_id, mismatched.replicate
        ) = (
            aligned.variant, aligned.base, aligned.visibility, aligned.header, aligned.bucket,
            aligned.instance_id, aligned.replicate
        )
        and mismatched.training_seed is not distinct from aligned.training_seed
    where mismatched.condition = 'P->S'
        and aligned.condition = 'P->P'
        and mismatched.finish_category = 'normal'
        and aligned.finish_category = 'normal'
    group by all
),

written_ratios as (
    select
        statistics.variant,
        statistics.base,
        statistics.visibility,
        statistics.header,
        statistics.bucket,
        statistics.metric,
        statistics.train_a || ' ' || statistics.runtime_a as cell,
        printf('%.2f', statistics.estimate) as ratio
    from main.statistics
    where statistics.plan_digest = $plan_digest
        and statistics.analysis = 'ratio'
        and statistics.comparison_group = 'against_aligned'
        and statistics.interval_kind = 'percentile'
        and statistics.estimate is not null
),

tested_settings as (
    select
        written_ratios.variant,
        written_ratios.base,
        written_ratios.visibility,
        written_ratios.header,
        written_ratios.bucket,
        max(ratio) filter (metric = 'total_tokens' and cell = 'persistent stateless') as p_on_s,
        max(ratio) filter (metric = 'total_tokens' and cell = 'stateless stateless') as s_on_s,
        max(ratio) filter (metric = 'total_tokens' and cell = 'stateless persistent') as s_on_p,
        max(ratio) filter (metric = 'tokens_per_turn' and cell = 'persistent stateless') as p_on_s_per_turn,
        max(ratio) filter (metric = 'tokens_per_turn' and cell = 'stateless stateless') as s_on_s_per_turn,
        max(ratio) filter (metric = 'tokens_per_turn' and cell = 'stateless persistent') as s_on_p_per_turn
    from written_ratios
    group by all
),

interactions as (
    select
        statistics.variant,
        statistics.base,
        statistics.visibility,
        statistics.header,
        statistics.bucket,
        format(
            '{:,} [{:,}, {:,}]',
            cast(round(statistics.estimate) as bigint),
            cast(round(statistics.low) as bigint),
            cast(round(statistics.high) as bigint)
        ) as interaction
    from main.statistics
    where statistics.plan_digest = $plan_digest
        and statistics.analysis = 'interaction'
        and statistics.metric = 'total_tokens'
        and statistics.interval_kind = 'percentile'
),

final as (
    select
        crossed_cells.variant,
        crossed_cells.base,
        crossed_cells.visibility,
        crossed_cells.header,
        crossed_cells.bucket,
        crossed_cells.measured_on,
        concat_ws(
            ', ',
            case crossed_cells.base
                when 'common' then 'common with adapters'
                when 'both' then 'both idioms with adapters'
                else crossed_cells.base
            end,
            crossed_cells.bucket,
            replace(crossed_cells.visibility, '_', ' '),
            if(
                described_variants.variant is null,
                replace(crossed_cells.variant, '-', ' '),
                described_variants.words
            ),
            if(crossed_cells.seed_count > 1, crossed_cells.seed_count || ' seeds', null)
        ) as setting,
        if(crossed_cells.are_equally_many, crossed_cells.most_episodes::varchar, crossed_cells.every_count)
            as episodes_per_cell,
        crossed_cells.missing_pct || ' %' || coalesce(' (' || crossed_cells.missing_elsewhere || ')', '')
            as p_on_s_missing_names,
        crossed_cells.unfinished_count as p_on_s_without_end,
        tested_settings.p_on_s || ' (' || coalesce(printf('%.2f', ended_pairs.token_ratio), 'none') || ') / '
        || tested_settings.s_on_s || ' / ' || tested_settings.s_on_p as tokens_over_p_on_p,
        tested_settings.p_on_s_per_turn || ' / ' || tested_settings.s_on_s_per_turn || ' / '
        || tested_settings.s_on_p_per_turn as tokens_per_turn_over_p_on_p,
        interactions.interaction as interaction_on_tokens
    from crossed_cells
    left join described_variants using (variant)
    left join ended_pairs using (variant, base, visibility, header, bucket)
    left join tested_settings using (variant, base, visibility, header, bucket)
    left join interactions using (variant, base, visibility, header, bucket)
)

select * exclude (variant, base, visibility, header, bucket) from final
order by
    variant <> 'main',
    variant,
    list_position(['scratch', 'common', 'both'], base) nulls last,
    bucket,
    visibility desc,
    header desc
