-- Every attempt at an evaluation episode of a plan, with a digest of each turn's reply and tokens, and one over all.
with said as (
    select
        episode_id, turn,
        concat_ws('/', turn, prompt_tokens, completion_tokens, assistant_text) as reply
    from turns
),

transcripts as (
    select
        episode_id,
        md5(string_agg(reply, '|' order by turn)) as transcript_digest,
        list(md5(reply) order by turn) as turn_digests
    from said
    group by episode_id
)

select
    episode_id, run_id, started_at, variant, base, model_name, model_digest, train_contract, training_seed,
    runtime_contract,
    visibility, header, bucket, instance_id, replicate, attempt, finish_reason, score, total_tokens, contract_json,
    transcript_digest, turn_digests,
    coalesce(status = 'finished', false) as is_of_finished_run
from staging.plan_episodes
left join transcripts using (episode_id)
left join run_ends using (run_id)
where plan_digest = $plan_digest and purpose = 'evaluation'
order by started_at, episode_id
