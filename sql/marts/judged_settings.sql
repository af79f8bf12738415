-- one row per evaluated setting, of models or of scripts: whether it bears a verdict, and why not
with evaluated_episodes as (
    select
        *,
        finish_category = 'normal' as is_ended,
        staging.model_seed(training_seed) as model_seed
    from marts.episode_metrics
    where purpose = 'evaluation' and is_counted
),

crossed_episodes as (
    select
        plan_digest, variant, base, visibility, header, bucket, instance_id, model_seed, replicate,
        min(scale) as scale,
        avg(score) filter (condition = 'P->P') as aligned_score,
        bool_or(model <> 'base') as has_trained_or_script,
        count(*) filter (is_ended and condition in ('P->P', 'P->S', 'S->P', 'S->S')) = 4 as has_all_ended
    from evaluated_episodes
    group by all
),

measured_settings as (
    select
        plan_digest, variant, base, visibility, header, bucket,
        min(scale) as scale,
        count(distinct instance_id) filter (aligned_score is not null) as instance_count,
        count(*) filter (has_all_ended) as ended_pair_count,
        -- scripts of a contract stand for models trained on it
        bool_or(has_trained_or_script) as has_trained_or_script,
        100 * avg(aligned_score) as p_on_p_score_pct
    from crossed_episodes
    group by all
)

select
    plan_digest, variant, base, visibility, header, bucket, instance_count, ended_pair_count, p_on_p_score_pct,
    case
        when scale = 'smoke' then 'smoke scale: numbers without meaning'
        when not has_trained_or_script then 'no trained model was evaluated'
        when instance_count < instance_minimum
            then instance_count || ' instances in P->P: a verdict needs ' || instance_minimum
        when p_on_p_score_pct < 100 * learnt_score_minimum
            then 'P->P did not learn the task: it scores ' || round(p_on_p_score_pct, 1) || ' %, a verdict needs '
                || round(100 * learnt_score_minimum) || ' %'
    end as no_verdict_reason,
    case
        when no_verdict_reason is not null then no_verdict_reason
        when ended_pair_count < ended_pair_minimum
            then ended_pair_count || ' pairs ended in all four cells: a verdict on pairs needs ' || ended_pair_minimum
    end as no_pair_verdict_reason
from measured_settings
cross join staging.verdict_minimums
order by plan_digest, variant, base, visibility, header, bucket
