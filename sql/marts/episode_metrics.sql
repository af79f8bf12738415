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

first_misses as (
    select
        episode_id,
        min(turn) as first_turn,
        min(step) as first_step
    from main.errors
    where is_missing_name and not is_caught
    group by all
),

-- the first block after a missing name that ends without an error
repairs as (
    select
        episode_id,
        first_misses.first_turn,
        min(steps.turn) as repaired_turn
    from main.steps
    inner join first_misses using (episode_id)
    anti join (select episode_id, step from main.errors where not is_caught) as failed using (episode_id, step)
    where steps.step > first_misses.first_step
    group by all
),

repetitions as (
    select
        episode_id,
        count(*) filter (is_repeated) as repeated_step_count
    from (
        select
            episode_id,
            code = lag(code) over (partition by episode_id order by step) as is_repeated
        from main.steps
    ) as compared
    group by all
),

-- imported traces hold no executed calls, faults or cached tokens, some neither tokens nor times, and a state in which
-- nothing was inspected or taken has a score of 0: what nobody counted is null
counted_episodes as (
    select
        * replace (
            if(backend = 'imported' and score is distinct from 0, nullif(weight_taken, 0), weight_taken)
                as weight_taken,
            if(backend = 'imported' and score is distinct from 0, nullif(inspected_count, 0), inspected_count)
                as inspected_count,
            if(backend = 'imported' and score is null, null, is_solved) as is_solved,
            if(backend = 'imported', null, injected_fault_count) as injected_fault_count,
            if(backend = 'imported', null, model_seconds) as model_seconds,
            if(backend = 'imported', null, execution_seconds) as execution_seconds,
            if(backend = 'imported', nullif(wall_seconds, 0), wall_seconds) as wall_seconds,
            if(backend = 'imported', null, executed_call_count) as executed_call_count,
            if(token_source = 'imported', null, cached_prompt_tokens) as cached_prompt_tokens,
            if(token_source = 'imported', nullif(prompt_tokens, 0), prompt_tokens) as prompt_tokens,
            if(token_source = 'imported', nullif(completion_tokens, 0), completion_tokens) as completion_tokens
        )
    from staging.plan_episodes
)

select
    episode_id, run_id, plan_digest, scale, family,
    -- heads our column wherever it stands beside a published one
    case scale
        when 'paper' then 'paper, ' || case
            when purpose = 'teacher' or base = 'teacher' then model_name
            -- rows are imported at this scale only when they are the paper's own
            when backend = 'imported' then 'Qwen3-8B'
            else coalesce(base_models.model, 'unknown model')
        end
        when 'pretrained'
            then 'pretrained, ' || if(base = 'teacher', model_name, coalesce(base_models.model, 'unknown model'))
        when 'import' then 'imported rows'
        else scale || ', not Qwen3-8B'
    end as measured_on,
    purpose, variant, base, model_name, train_contract, runtime_contract, visibility, header, prompt_set, bucket,
    -- split of the paper that a bucket of its family stands for: Hard is the paper's held-out one
    case
        when family <> 'knapsack' then null
        when bucket in ('easy', 'hard') then bucket
        when is_out_of_distribution then 'hard'
        else 'easy'
    end as published_split,
    case
        -- a scripted teacher that is evaluated beside the models plays without any
        when purpose = 'teacher' or base = 'teacher' then 'teacher'
        when train_contract is null then 'base'
        else 'sft'
    end as model,
    -- a model that others trained, and whose training nobody declared, goes by its name
    coalesce(letters[train_contract], train_contract, if(scale = 'import' and base = 'hub', model_name, base))
    || '->' || coalesce(letters[runtime_contract], runtime_contract) as condition,
    -- the habits of a scripted teacher, by the names of tasks/knapsack/teachers/habits.py
    habits_json ->> '$.inspected_per_turn' as inspected_per_turn,
    habits_json ->> '$.taken_per_turn' as taken_per_turn,
    habits_json ->> '$.form' as form,
    habits_json ->> '$.shown' as shown,
    habits_json ->> '$.names' as names,
    habits_json ->> '$.order' as "order",
    habits_json ->> '$.ending' as ending,
    -- an episode's contract says so only where its prompt is silent; old warehouses hold rows without one
    coalesce(try(cast(contract_json ->> '$.declares_contract' as boolean)), true) as is_declared,
    split, is_out_of_distribution, instance_id, training_seed, replicate, attempt,
    -- an episode that ended with `error` runs again, and so does one whose model was trained anew, from attempt 0
    is_last_attempt,
    -- what the tables are about: an episode whose endpoint or runtime failed says nothing about its cell
    is_last_attempt and (finish_reason <> 'error' or backend = 'imported') as is_counted,
    finish_reason,
    coalesce(category, 'other') as finish_category,
    coalesce(table_6_category, 'other') as table_6_category,
    score, is_solved, metrics_json,
    weight_taken / capacity as capacity_use,
    inspected_count,
    inspected_count / inspection_budget as inspection_budget_use,
    turn_count, step_count, call_site_count, executed_call_count, prompt_tokens, cached_prompt_tokens,
    completion_tokens,
    prompt_tokens + completion_tokens as total_tokens,
    (prompt_tokens + completion_tokens) / nullif(turn_count, 0) as tokens_per_turn,
    training_tokens, injected_fault_count, model_seconds, execution_seconds, wall_seconds,
    coalesce(columns(own_errors.* exclude (episode_id)), 0) as '\0',
    coalesce(own_errors.missing_name_count, 0) > 0 as has_missing_name,
    -- null where nobody kept the steps
    if(has_missing_name and repetitions.repeated_step_count is not null, repairs.repaired_turn is not null, null)
        as is_repaired,
    repairs.repaired_turn - repairs.first_turn as turns_to_repair,
    if(step_count = 0 and backend <> 'imported', 0, repetitions.repeated_step_count) as repeated_step_count,
    episode_failures.failure_class,
    episode_behaviour.* exclude (episode_id, reading, is_default)
from counted_episodes
cross join (
    select map(['persistent', 'stateless', 'injected', 'injected+persistent'], ['P', 'S', 'I', 'IP']) as letters
) as abbreviations
inner join staging.attempts using (plan_digest, episode_id)
left join (
    select distinct on (instance_id) instance_id, capacity, inspection_budget from main.instances
) as described_instances using (instance_id)
left join staging.finish_signals using (finish_reason)
left join staging.base_models using (plan_digest, base)
left join own_errors using (episode_id)
left join repairs using (episode_id)
left join repetitions using (episode_id)
left join marts.episode_failures
    on counted_episodes.episode_id = episode_failures.episode_id and episode_failures.is_default
left join marts.episode_behaviour
    on counted_episodes.episode_id = episode_behaviour.episode_id and episode_behaviour.is_default
order by plan_digest, purpose, variant, base, bucket, condition, instance_id, training_seed, replicate, attempt
