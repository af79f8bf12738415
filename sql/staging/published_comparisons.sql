-- one row per comparison of two cells that arXiv 2603.01209 prints in Tables 7 (Easy) and 8 (Hard)
select
    split, comparison_group, train_a, runtime_a, train_b, runtime_b,
    both_tables.mean_a as mean_a_pct,
    both_tables.mean_b as mean_b_pct,
    coalesce(both_tables.delta_published, both_tables.delta_recomputed) as difference_points,
    both_tables.significance
from (
    from published.table_7
    union all by name
    from published.table_8
) as both_tables
order by split, comparison_group, train_a, runtime_a, train_b, runtime_b
