-- CaveAgent, Table 1: tau2-bench, success in percent; published means of three runs of both arms, ours by the database
with measured as (
    select
        counted_cave_turns.tier,
        counted_cave_turns.arm,
        counted_cave_turns.model_name,
        counted_cave_turns.is_oracle,
        count(distinct counted_cave_turns.replicate) as replicate_count,
        count(*) / replicate_count as turn_count,
        100 * avg(counted_cave_turns.is_passed::int) as passed_pct,
        sum(counted_cave_turns.reply_count) / replicate_count as reply_count,
        sum(counted_cave_turns.prompt_tokens) / replicate_count as prompt_tokens,
        sum(counted_cave_turns.completion_tokens) / replicate_count as completion_tokens
    from staging.counted_cave_turns
    where counted_cave_turns.plan_digest = $plan_digest
        and counted_cave_turns.suite = 'tau2'
    group by all
),

final as (
    select
        cave_table1.domain,
        cave_table1.model as published_model,
        cave_table1.fc_avg as published_function_calling_pct,
        cave_table1.cave_avg as published_caveagent_pct,
        cave_table1.cave_avg - cave_table1.fc_avg as published_gain,
        measured.arm,
        case
            when measured.is_oracle then 'oracle: shows only that the harness loses nothing'
            else measured.model_name
        end as played_by,
        measured.replicate_count,
        measured.passed_pct
    from published.cave_table1
    left join measured on cave_table1.domain = measured.tier
)

select * from final
order by domain, published_model, played_by, arm
