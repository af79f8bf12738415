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
    plan_episodes.run_id, plan_episodes.started_at, plan_episodes.variant, plan_episodes.base,
    plan_episodes.model_name, plan_episodes.model_digest, plan_episodes.train_contract,
    plan_episodes.training_seed, plan_episodes.runtime_contract, plan_episodes.visibility,
    plan_episodes.header, plan_episodes.bucket, plan_episodes.instance_id, plan_episodes.replicate,
    plan_episodes.attempt, plan_episodes.finish_reason, plan_episodes.score, plan_episodes.total_tokens,
    plan_episodes.contract_json, transcripts.transcript_digest,
    run_ends.status is not distinct from 'finished' as is_of_finished_run
from staging.plan_episodes
left join transcripts on plan_episodes.episode_id = transcripts.episode_id
left join run_ends on plan_episodes.run_id = run_ends.run_id
where plan_episodes.plan_digest = $plan_digest
and plan_episodes.purpose = 'evaluation'
order by plan_episodes.started_at, plan_episodes.episode_id
