-- one row per plan and episode with every metric of the tables, under the default readings; the statistics read this
with own_errors as (
    select
        episode_id,
        count(*) filter (kind = 'interpreter' and not is_caught) as interpreter_error_count,
        count(*) filter (kind = 'tool' and not is_caught) as tool_error_count,
        count(*) filter (kind = 'tool' and is_caught) as caught_tool_error_count,
        count(*) filter (kind = 'cap' and not is_caught) as cap_error_count,
        count(*) filter (kind = 'protocol') as protocol_error_count,
        count(*) filter (kind = 'model') as model_error_count,
        -- D.1: interpreter errors of the observation, each event once
        count(*) filter (kind = 'interpreter' and is_missing_name and not is_caught) as missing_name_count
    from main.errors
    where not is_injected
    group by all
),

described_instances as (
    select
        instance_id,
        any_value(capacity) as capacity,
        any_value(inspection_budget) as inspection_budget
    from main.instances
    group by all
),

-- imported traces hold no executed calls, faults or cached tokens, some neither tokens nor times, and a state in which
-- nothing was inspected or taken has a score of 0: what nobody counted is null
counted_by_source as (
    select
        episode_id,
        backend = 'imported' and score is distinct from 0 as cannot_be_empty,
        if(cannot_be_empty, nullif(weight_taken, 0), weight_taken) as weight_taken,
        if(cannot_be_empty, nullif(inspected_count, 0), inspected_count) as inspected_count,
        if(backend = 'imported', null, injected_fault_count) as injected_fault_count,
        if(backend = 'imported', null, model_seconds) as model_seconds,
        if(backend = 'imported', null, execution_seconds) as execution_seconds,
        if(backend = 'imported', nullif(wall_seconds, 0), wall_seconds) as wall_seconds,
        if(backend = 'imported', null, executed_call_count) as executed_call_count,
        if(token_source = 'imported', null, cached_prompt_tokens) as cached_prompt_tokens,
        if(token_source = 'imported', nullif(prompt_tokens, 0), prompt_tokens) as prompt_tokens,
        if(token_source = 'imported', nullif(completion_tokens, 0), completion_tokens) as completion_tokens
    from main.episodes
),

abbreviations as (
    select map(['persistent', 'stateless', 'injected', 'injected+persistent'], ['P', 'S', 'I', 'IP']) as letters
)

select
    episodes.episode_id, episodes.run_id, episodes.plan_digest, episodes.scale,
    -- heads our column wherever it stands beside a published one
    case episodes.scale
        when 'paper' then 'paper, ' || case
            when episodes.purpose = 'teacher' or episodes.base = 'teacher' then episodes.model_name
            -- rows are imported at this scale only when they are the paper's own
            when episodes.backend = 'imported' then 'Qwen3-8B'
            else coalesce(base_models.model, 'unknown model')
        end
        when 'import' then 'imported rows'
        else episodes.scale || ', not Qwen3-8B'
    end as measured_on,
    purpose, variant, base, model_name, train_contract, runtime_contract, visibility, header, bucket,
    -- split of the paper that a bucket stands for: Hard is the paper's held-out one
    case
        when episodes.bucket in ('easy', 'hard') then episodes.bucket
        when episodes.is_out_of_distribution then 'hard'
        else 'easy'
    end as published_split,
    case
        -- a scripted teacher that is evaluated beside the models plays without any
        when episodes.purpose = 'teacher' or episodes.base = 'teacher' then 'teacher'
        when episodes.train_contract is null then 'base'
        else 'sft'
    end as model,
    coalesce(letters[episodes.train_contract], episodes.train_contract, episodes.base)
    || '->' || coalesce(letters[episodes.runtime_contract], episodes.runtime_contract) as condition,
    episodes.split, episodes.is_out_of_distribution, episodes.instance_id, episodes.training_seed,
    episodes.replicate, episodes.attempt,
    -- an episode that ended with `error` runs again, and so does one whose model was trained anew, from attempt 0
    attempts.is_last_attempt,
    -- what the tables are about: an episode whose endpoint or runtime failed says nothing about its cell
    attempts.is_last_attempt and (episodes.finish_reason <> 'error' or episodes.backend = 'imported') as is_counted,
    episodes.finish_reason,
    coalesce(finish_signals.category, 'other') as finish_category,
    coalesce(finish_signals.table_6_category, 'other') as table_6_category,
    episodes.score, episodes.is_solved,
    counted_by_source.weight_taken / described_instances.capacity as capacity_use,
    counted_by_source.inspected_count,
    counted_by_source.inspected_count / described_instances.inspection_budget as inspection_budget_use,
    episodes.turn_count, episodes.step_count, episodes.call_site_count, counted_by_source.executed_call_count,
    counted_by_source.prompt_tokens, counted_by_source.cached_prompt_tokens, counted_by_source.completion_tokens,
    counted_by_source.prompt_tokens + counted_by_source.completion_tokens as total_tokens,
    (counted_by_source.prompt_tokens + counted_by_source.completion_tokens) / nullif(episodes.turn_count, 0)
        as tokens_per_turn,
    episodes.training_tokens, counted_by_source.injected_fault_count, counted_by_source.model_seconds,
    counted_by_source.execution_seconds, counted_by_source.wall_seconds,
    coalesce(columns(own_errors.* exclude (episode_id)), 0) as '\0',
    coalesce(own_errors.missing_name_count, 0) > 0 as has_missing_name,
    episode_failures.failure_class,
    episode_behaviour.* exclude (episode_id, reading, is_default)
from staging.plan_episodes as episodes
cross join abbreviations
inner join counted_by_source using (episode_id)
inner join staging.attempts using (plan_digest, episode_id)
left join described_instances using (instance_id)
left join staging.finish_signals using (finish_reason)
left join staging.base_models using (plan_digest, base)
left join own_errors using (episode_id)
left join marts.episode_failures
    on episodes.episode_id = episode_failures.episode_id and episode_failures.is_default
left join marts.episode_behaviour
    on episodes.episode_id = episode_behaviour.episode_id and episode_behaviour.is_default
order by plan_digest, purpose, variant, base, bucket, condition, instance_id, training_seed, replicate, attempt
