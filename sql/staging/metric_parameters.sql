-- one row per reading of the behaviour metrics of arXiv 2603.01209, appendix F; another reading is one row more
-- gap: steps between binding and use that make a use one of kept state
-- plus_one: what a context lifespan adds to last step - first step
-- scope: all counts function bodies where they stand; module counts only what runs with the block
-- requires_live: whether a use counts only if the interpreter still held the name
-- redefinition_unit: sites counts every binding of a name already held; names counts each such name once per step
-- counts_nameless: whether an episode without user names has lifespans of 0, or none and no part in their means
select *
from (
    values
        -- the paper's formulas are lost: gap 2 and + 1 are inferred from its Tables 9 and 10 (sql/definitions.md)
        ('appendix_f', 2, 1, 'all', false, 'sites', true, true),
        ('next_step_counts', 1, 1, 'all', false, 'sites', true, false),
        ('lifespan_without_one', 2, 0, 'all', false, 'sites', true, false),
        ('module_scope_only', 2, 1, 'module', false, 'sites', true, false),
        ('live_names_only', 2, 1, 'all', true, 'sites', true, false),
        ('distinct_redefinitions', 2, 1, 'all', false, 'names', true, false),
        ('nameless_left_out', 2, 1, 'all', false, 'sites', false, false)
) as listed (reading, gap, plus_one, scope, requires_live, redefinition_unit, counts_nameless, is_default)
order by reading
