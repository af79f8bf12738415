-- one row per trained cell that arXiv 2603.01209 prints in Tables 9 (Easy) and 10 (Hard), with its number of episodes
with both_tables as (
    select * from published.table9
    union all by name
    select * from published.table10
)

select
    both_tables.*,
    table2.n_tasks as episode_count
from both_tables
inner join published.table2 using (split, train_semantics, runtime_semantics)
order by split, train_semantics, runtime_semantics
