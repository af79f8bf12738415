-- one row per reading of the behaviour metrics of arXiv 2603.01209, appendix F; another reading is one row more
with listed_readings as (
    select *
    from (
        values
            -- the paper's formulas are lost: gap 2 and + 1 are inferred from its Tables 9 and 10 (sql/README.md)
            ('appendix_f', 2, 1, 'all', false, 'sites', true, true),
            ('next_step_counts', 1, 1, 'all', false, 'sites', true, false),
            ('lifespan_without_one', 2, 0, 'all', false, 'sites', true, false),
            ('module_scope_only', 2, 1, 'module', false, 'sites', true, false),
            ('live_names_only', 2, 1, 'all', true, 'sites', true, false),
            ('distinct_redefinitions', 2, 1, 'all', false, 'names', true, false),
            ('nameless_left_out', 2, 1, 'all', false, 'sites', false, false)
    ) as listed (reading, gap, plus_one, scope, requires_live, redefinition_unit, counts_nameless, is_default)
),

final as (
    select
        listed_readings.reading,
        -- steps between binding and use that make a use one of kept state
        listed_readings.gap,
        -- what a context lifespan adds to last step - first step
        listed_readings.plus_one,
        -- all: function bodies count where they stand; module: only what runs with the block
        listed_readings.scope,
        -- whether a use counts only if the interpreter still held the name
        listed_readings.requires_live,
        -- sites: every binding of a name already held; names: each such name once per step
        listed_readings.redefinition_unit,
        -- whether an episode without user names has lifespans of 0, or none and no part in their means
        listed_readings.counts_nameless,
        listed_readings.is_default
    from listed_readings
)

select * from final
order by reading
