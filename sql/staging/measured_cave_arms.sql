-- one row per arm of a comparison, factor of the prompt and tier of a suite; a null tier is the whole suite
select
    plan_digest, suite, tier, instruction, arm,
    if(is_oracle, 'oracle: shows only that the harness loses nothing', model_name) as played_by,
    if(is_oracle, 'tokenizer of the script', 'endpoint') as tokens_counted_by,
    count(distinct replicate) as replicate_count,
    count(distinct case_id || ' ' || question) as turn_count,
    100 * avg(is_passed::int) as passed_pct,
    100 * avg(is_state_right::int) as right_state_pct,
    100 * avg(has_required_calls::int) as required_calls_pct,
    100 * avg(are_calls_reference::int) as reference_calls_pct,
    100 * avg(judged_reward) as judged_pct,
    sum(reply_count) / replicate_count as reply_count,
    sum(prompt_tokens) / replicate_count as prompt_tokens,
    sum(completion_tokens) / replicate_count as completion_tokens,
    sum(prompt_tokens + completion_tokens) / replicate_count as total_tokens
from staging.counted_cave_turns
group by
    grouping sets (
        (plan_digest, suite, tier, instruction, arm, model_name, is_oracle),
        (plan_digest, suite, instruction, arm, model_name, is_oracle)
    )
order by plan_digest, suite, tier, instruction, arm, played_by
