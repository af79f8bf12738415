-- one row per trained cell that arXiv 2603.01209 prints in Tables 9 (Easy) and 10 (Hard), with its number of episodes
select
    both_tables.*,
    table2.n_tasks as episode_count
from (
    from published.table9
    union all by name
    from published.table10
) as both_tables
inner join published.table2 using (split, train_semantics, runtime_semantics)
order by split, train_semantics, runtime_semantics
