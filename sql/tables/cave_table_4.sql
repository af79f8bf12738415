-- CaveAgent, Table 4: steps, tokens and success of the token study by arm; published for CaveAgent and function calling
with measured as (
    from staging.measured_cave_arms
    where plan_digest = $plan_digest and suite = 'token_efficiency' and tier is null
)

select
    arm, instruction, played_by, replicate_count, turn_count, reply_count, prompt_tokens, completion_tokens,
    total_tokens, tokens_counted_by, passed_pct,
    published_cave_arms.* exclude (arm)
from staging.published_cave_arms
full join measured using (arm)
order by arm, instruction, played_by
