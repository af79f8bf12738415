-- one row per cell that arXiv 2603.01209 prints in Tables 2, 3 (Hard alone), 9 (Easy) and 10 (Hard), in our words
select
    table2.* exclude (n_tasks, solved, mean_time_s, score_per_1k_tokens),
    table2.n_tasks as episode_count,
    table2.solved as solved_count,
    table2.mean_time_s as mean_seconds,
    table2.score_per_1k_tokens as score_per_1k_total_tokens,
    table3.pct_episodes_unresolved_ref as missing_name_episode_pct,
    table3.unresolved_ref_per_episode as missing_names_per_episode,
    behaviour.* exclude (split, train_semantics, runtime_semantics)
from published.table2
left join published.table3 using (split, train_semantics, runtime_semantics)
left join (
    from published.table9
    union all by name
    from published.table10
) as behaviour using (split, train_semantics, runtime_semantics)
order by split, train_semantics, runtime_semantics
