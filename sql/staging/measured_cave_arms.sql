-- one row per arm of a comparison, factor of the prompt and tier of a suite; a null tier is the whole suite
select
    counted_cave_turns.plan_digest,
    counted_cave_turns.suite,
    counted_cave_turns.tier,
    counted_cave_turns.instruction,
    counted_cave_turns.arm,
    if(
        counted_cave_turns.is_oracle,
        'oracle: shows only that the harness loses nothing',
        counted_cave_turns.model_name
    ) as played_by,
    if(counted_cave_turns.is_oracle, 'tokenizer of the script', 'endpoint') as tokens_counted_by,
    count(distinct counted_cave_turns.replicate) as replicate_count,
    count(distinct counted_cave_turns.case_id || ' ' || counted_cave_turns.question) as turn_count,
    100 * avg(counted_cave_turns.is_passed::int) as passed_pct,
    100 * avg(counted_cave_turns.is_state_right::int) as right_state_pct,
    100 * avg(counted_cave_turns.has_required_calls::int) as required_calls_pct,
    100 * avg(counted_cave_turns.are_calls_reference::int) as reference_calls_pct,
    100 * avg(counted_cave_turns.judged_reward) as judged_pct,
    sum(counted_cave_turns.reply_count) / replicate_count as reply_count,
    sum(counted_cave_turns.prompt_tokens) / replicate_count as prompt_tokens,
    sum(counted_cave_turns.completion_tokens) / replicate_count as completion_tokens,
    sum(counted_cave_turns.prompt_tokens + counted_cave_turns.completion_tokens) / replicate_count as total_tokens
from staging.counted_cave_turns
group by
    grouping sets (
        (plan_digest, suite, tier, instruction, arm, model_name, is_oracle),
        (plan_digest, suite, instruction, arm, model_name, is_oracle)
    )
order by plan_digest, suite, tier, instruction, arm, played_by
