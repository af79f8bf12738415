-- Every attempt at an evaluation episode of a plan, with a digest over its replies and tokens, turn by turn.
with transcripts as (
    select
        turns.episode_id,
        md5(string_agg(
            concat_ws('/', turns.turn, turns.prompt_tokens, turns.completion_tokens, turns.assistant_text),
            '|' order by turns.turn
        )) as transcript_digest
    from turns
    group by turns.episode_id
)

select
    columns(['run_id', 'started_at', 'variant', 'base', 'model_name', 'model_digest', 'train_contract']),
    columns(['training_seed', 'runtime_contract', 'visibility', 'header', 'bucket', 'instance_id', 'replicate']),
    columns(['attempt', 'finish_reason', 'score', 'total_tokens', 'contract_json']),
    transcripts.transcript_digest
from staging.plan_episodes
left join transcripts on plan_episodes.episode_id = transcripts.episode_id
where plan_episodes.plan_digest = $plan_digest
and plan_episodes.purpose = 'evaluation'
order by plan_episodes.started_at, plan_episodes.episode_id
