-- one row per signal that ends an episode, with its category of arXiv 2603.01209, Table 6
select *
from (
    values
        ('finish_tool', 'normal', 'normal'),
        -- a CaveAgent's last reply, without a block (arXiv 2601.01569)
        ('answer', 'normal', 'normal'),
        ('max_tokens', 'budget_exhaustion', 'budget_exhaustion'),
        ('max_turns', 'budget_exhaustion', 'budget_exhaustion'),
        ('max_steps', 'budget_exhaustion', 'budget_exhaustion'),
        ('length', 'budget_exhaustion', 'budget_exhaustion'),
        ('context_length', 'budget_exhaustion', 'budget_exhaustion'),
        ('error', 'abnormal', 'abnormal'),
        ('exception', 'abnormal', 'abnormal'),
        ('tool_error', 'abnormal', 'abnormal'),
        -- the paper has no wall-clock signal: kept apart, and a budget in its terms
        ('timeout', 'timeout', 'budget_exhaustion'),
        -- whatever else an imported trace says
        ('other', 'other', 'other')
) as listed (finish_reason, category, table_6_category)
order by finish_reason
