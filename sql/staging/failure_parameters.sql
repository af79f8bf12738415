-- one row per reading of the failure classes of arXiv 2603.01209, appendix D.3; another reading is one row more
with window_errors as (
    -- k of "at least k errors among the last five recorded events" is lost; 3 is the majority of five
    select unnest([2, 3, 4]) as window_error_minimum
),

densities as (
    select unnest([0.3, 0.4, 0.5, 0.6, 0.7]) as density
),

crossed_thresholds as (
    select
        'k=' || window_errors.window_error_minimum || ' density=' || densities.density as reading,
        window_errors.window_error_minimum,
        densities.density,
        false as counts_cap_errors,
        false as counts_caught_errors,
        true as counts_class_probing,
        true as is_sensitivity
    from window_errors
    cross join densities
),

named_variants as (
    select *
    from (
        values
            ('cap_errors_are_errors', 3, 0.5, true, false, true, false),
            ('caught_errors_count', 3, 0.5, false, true, true, false),
            ('class_probing_is_no_violation', 3, 0.5, false, false, false, false)
    ) as listed (
        reading,
        window_error_minimum,
        density,
        counts_cap_errors,
        counts_caught_errors,
        counts_class_probing,
        is_sensitivity
    )
),

all_readings as (
    select * from crossed_thresholds
    union all
    select * from named_variants
),

final as (
    select
        all_readings.reading,
        -- step events that the window looks back on
        5 as window_step_count,
        all_readings.window_error_minimum,
        -- errors per step above which an episode is unstable
        cast(all_readings.density as double) as density,
        -- whether the per-turn cap's errors are execution errors
        all_readings.counts_cap_errors,
        -- whether tool errors that the block caught are searched for violations
        all_readings.counts_caught_errors,
        -- whether an error about a disallowed class is a violation; only such errors tell the allowed classes
        all_readings.counts_class_probing,
        all_readings.is_sensitivity,
        all_readings.reading = 'k=3 density=0.5' as is_default
    from all_readings
)

select * from final
order by reading
