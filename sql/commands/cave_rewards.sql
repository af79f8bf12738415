-- one row per counted episode of CaveAgent's suites: its replies, and the reward of each turn with its last reply
with rewarded_turns as (
    select
        counted_cave_turns.episode_id,
        any_value(counted_cave_turns.case_id) as case_id,
        any_value(counted_cave_turns.arm) as arm,
        any_value(counted_cave_turns.model_name) as model_name,
        any_value(counted_cave_turns.replicate) as replicate,
        list(
            struct_pack(
                question := counted_cave_turns.question,
                last_reply := counted_cave_turns.first_reply + counted_cave_turns.reply_count - 1,
                reward := counted_cave_turns.reward
            )
            order by counted_cave_turns.question
        ) as rewards
    from staging.counted_cave_turns
    group by counted_cave_turns.episode_id
),

told_turns as (
    select
        turns.episode_id,
        max(turns.observation) filter (turns.turn = 0) as opening,
        list(
            struct_pack(assistant_text := turns.assistant_text, observation := turns.observation)
            order by turns.turn
        ) filter (turns.turn > 0) as replies
    from main.turns
    group by turns.episode_id
)

select
    rewarded_turns.*,
    told_turns.opening, told_turns.replies
from rewarded_turns
inner join told_turns on rewarded_turns.episode_id = told_turns.episode_id
order by case_id, arm, replicate, episode_id
