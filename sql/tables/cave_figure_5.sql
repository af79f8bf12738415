-- CaveAgent, Figure 5: steps, success and tokens of the token study by domain; it is a picture, Table 4 has its totals
with domains (tier, figure_5_domain) as (
    values ('iot', 'IoT'), ('finance', 'finance'), ('shop', 'e-commerce')
),

published_values as (
    unpivot published.cave_table_4
    on caveagent, function_calling
    into name method value published_value
),

published_totals as (
    select
        if(method = 'caveagent', 'persistent_code', 'json') as arm,
        max(published_value) filter (metric = 'total_steps') as published_reply_count,
        max(published_value) filter (metric = 'prompt_tokens') as published_prompt_tokens,
        max(published_value) filter (metric = 'completion_tokens') as published_completion_tokens,
        max(published_value) filter (metric = 'avg_success_rate') as published_passed_pct
    from published_values
    group by all
),

measured as (
    select
        * exclude (plan_digest, suite, tier),
        coalesce(figure_5_domain, tier, 'all') as domain
    from staging.measured_cave_arms
    left join domains using (tier)
    where plan_digest = $plan_digest and suite = 'token_efficiency'
)

select
    measured.arm, instruction, played_by, domain, replicate_count, turn_count, reply_count,
    prompt_tokens, completion_tokens,
    total_tokens, tokens_counted_by, passed_pct,
    if(domain = 'all', 'Table 4', 'in the picture only') as published_in,
    columns(published_totals.* exclude (arm))
from measured
left join published_totals
    on measured.arm = published_totals.arm
    and domain = 'all'
order by measured.arm, instruction, played_by, domain = 'all', list_position(['IoT', 'finance', 'e-commerce'], domain)
