-- one row per cell that arXiv 2603.01209 prints in Tables 2, 3 (Hard alone), 9 (Easy) and 10 (Hard), in our words
select
    table_2.* exclude (n_tasks, solved, mean_time_s, score_per_1k_tokens),
    table_2.n_tasks as episode_count,
    table_2.solved as solved_count,
    table_2.mean_time_s as mean_seconds,
    table_2.score_per_1k_tokens as score_per_1k_total_tokens,
    table_3.pct_episodes_unresolved_ref as missing_name_episode_pct,
    table_3.unresolved_ref_per_episode as missing_names_per_episode,
    behaviour.* exclude (split, train_semantics, runtime_semantics)
from published.table_2
left join published.table_3 using (split, train_semantics, runtime_semantics)
left join (
    from published.table_9
    union all by name
    from published.table_10
) as behaviour using (split, train_semantics, runtime_semantics)
order by split, train_semantics, runtime_semantics
