-- one row per counted episode of CaveAgent's suites: its replies, and the reward of each turn with its last reply
with rewarded_turns as (
    select
        episode_id,
        any_value(suite) as suite,
        any_value(tier) as tier,
        any_value(case_id) as case_id,
        any_value(arm) as arm,
        any_value(model_name) as model_name,
        any_value(replicate) as replicate,
        list({
            question: question,
            last_reply: first_reply + reply_count - 1,
            reward: reward,
            components: { state: cast(is_state_right as double), calls: cast(has_required_calls as double) }
        } order by question) as rewards
    from staging.counted_cave_turns
    group by episode_id
),

told_turns as (
    select
        episode_id,
        max(observation) filter (turn = 0) as opening,
        list({ assistant_text: assistant_text, observation: observation } order by turn) filter (turn > 0) as replies
    from main.turns
    group by episode_id
)

select
    rewarded_turns.*,
    agent, contract_json, opening, replies
from rewarded_turns
inner join told_turns using (episode_id)
inner join main.episodes using (episode_id)
order by case_id, arm, replicate, episode_id
