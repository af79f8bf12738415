-- one row per signal that ends an episode, with its category of arXiv 2603.01209, Table 6
with listed_signals as (
    select *
    from (
        values
            ('finish_tool', 'normal', 'normal', true),
            ('max_turns', 'budget_exhaustion', 'budget_exhaustion', true),
            ('max_steps', 'budget_exhaustion', 'budget_exhaustion', false),
            ('length', 'budget_exhaustion', 'budget_exhaustion', false),
            ('context_length', 'budget_exhaustion', 'budget_exhaustion', true),
            ('error', 'abnormal', 'abnormal', true),
            ('exception', 'abnormal', 'abnormal', false),
            ('tool_error', 'abnormal', 'abnormal', false),
            -- the paper has no wall-clock signal: kept apart, and a budget in its terms
            ('timeout', 'timeout', 'budget_exhaustion', true)
    ) as listed (finish_reason, category, table_6_category, is_ours)
),

final as (
    select
        listed_signals.finish_reason,
        listed_signals.category,
        listed_signals.table_6_category,
        -- whether our harness records it; the others occur in imported traces only
        listed_signals.is_ours
    from listed_signals
)

select * from final
order by finish_reason
