-- CaveAgent, appendix F.1: how turns failed, in percent of an arm's failed turns; the patterns overlap
select
    suite, model_name, instruction, arm,
    count(*) as failed_turn_count,
    100 * avg((not has_required_calls)::int) as missing_action_pct,
    100 * avg((call_count < golden_call_count)::int) as incomplete_exploration_pct,
    100 * avg((has_required_calls and not is_state_right)::int) as wrong_state_pct,
    100 * avg((finish_reason = 'answer' and reply_count = 1)::int) as answered_at_once_pct,
    100 * avg((finish_reason <> 'answer')::int) as stopped_pct
from staging.counted_cave_turns
where plan_digest = $plan_digest and not is_passed
group by all
order by suite, model_name, instruction, arm
