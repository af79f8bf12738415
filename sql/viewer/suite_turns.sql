-- The turns of the cases of a comparison: the plan's, or where it has none the one that finished last.
with latest_comparison as (
    select runs.plan_digest
    from runs
    inner join run_ends on runs.run_id = run_ends.run_id
    where runs.flow = 'compare_arms' and run_ends.status = 'finished'
    order by runs.plan_digest = $plan_digest desc, run_ends.finished_at desc
    limit 1
)

select
    suite, tier, case_id, question, arm, instruction, model_name, is_oracle, replicate, size, reply_count, call_count,
    golden_call_count, prompt_tokens, completion_tokens, finish_reason, is_state_right, has_required_calls, is_passed,
    wrong_json, state_json, answer, episode_id
from cave_turns
semi join latest_comparison on cave_turns.plan_digest = latest_comparison.plan_digest
order by suite, tier, case_id, question, instruction, model_name, arm, replicate, attempt
