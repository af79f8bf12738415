-- one row per reading of the failure classes of arXiv 2603.01209, appendix D.3; another reading is one row more
-- window_step_count: step events that the window looks back on; density: errors per step that make it unstable
-- counts_cap_errors: whether the per-turn cap's errors are execution errors
-- counts_caught_errors: whether tool errors that the block caught are searched for violations
-- counts_class_probing: whether an error about a disallowed class is a violation; these tell the allowed ones
with crossed_thresholds as (
    select
        'k=' || window_error_minimum || ' density=' || density as reading,
        window_error_minimum, density,
        false as counts_cap_errors,
        false as counts_caught_errors,
        true as counts_class_probing,
        true as is_sensitivity
    -- k of "at least k errors among the last five recorded events" is lost; 3 is the majority of five
    from (values (2), (3), (4)) as window_errors (window_error_minimum)
    cross join (values (0.3), (0.4), (0.5), (0.6), (0.7)) as densities (density)
),

all_readings as (
    select * from crossed_thresholds
    union all
    values
        ('cap_errors_are_errors', 3, 0.5, true, false, true, false),
        ('caught_errors_count', 3, 0.5, false, true, true, false),
        ('class_probing_is_no_violation', 3, 0.5, false, false, false, false)
)

select
    reading,
    5 as window_step_count,
    window_error_minimum,
    cast(density as double) as density,
    counts_cap_errors, counts_caught_errors, counts_class_probing, is_sensitivity,
    reading = 'k=3 density=0.5' as is_default
from all_readings
order by reading
