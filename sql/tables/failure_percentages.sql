-- Section 4.3: what unsolved episodes ended in, as percentages per cell; ours beside Qwen3-8B P->S on Hard
with named_endings as (
    select
        plan_digest, variant, base, visibility, header, bucket, model, train_contract, runtime_contract, condition,
        case
            when table_6_category = 'budget_exhaustion' then 'turn_or_context_exhaustion'
            when table_6_category <> 'normal' then 'abnormal_end'
            when failure_class like '%violation' then 'protocol_or_sequencing_violation'
            when failure_class = 'execution_instability' then 'cascading_execution_failure'
            when failure_class = 'silent_suboptimality' then 'silent_suboptimality'
            else 'unclassified'
        end as category
    from marts.episode_metrics
    where plan_digest = $plan_digest and purpose = 'evaluation' and is_counted and not is_solved
),

categories as (
    select category from named_endings
    union
    select category from published.failure_analysis
),

-- a category that no episode of a cell ended in is none of it, which stands beside the paper's number as well
counted_endings as (
    select
        named_endings.* replace (categories.category as category),
        count(*) filter (named_endings.category = categories.category) as episode_count,
        count(*) as cell_unsolved_count
    from named_endings
    cross join categories
    group by all
)

select
    variant, base, visibility, header, bucket, model, condition,
    measured_on, counted_endings.category, episode_count, cell_unsolved_count,
    100 * episode_count / cell_unsolved_count as unsolved_pct,
    pct_of_unsolved_published as qwen3_8b_hard_unsolved_pct,
    staging.minus_published(unsolved_pct, pct_of_unsolved_published, has_published_model) as unsolved_pct_difference
from counted_endings
inner join marts.evaluated_buckets using (plan_digest, variant, base, visibility, header, bucket)
-- the paper tells this of Hard alone, which stands beside every bucket that is ours
left join published.failure_analysis
    on (published_split = failure_analysis.split or counted_endings.bucket not in ('easy', 'hard'))
    and (train_contract, runtime_contract) = (train_semantics, runtime_semantics)
    and counted_endings.category = failure_analysis.category
    and is_as_published
order by variant, base, visibility, header, bucket, model desc, condition, category
