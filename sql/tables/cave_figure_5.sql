-- CaveAgent, Figure 5: steps, success and tokens of the token study by domain; it is a picture, Table 4 has its totals
with domains (tier, figure_5_domain) as (
    values ('iot', 'IoT'), ('finance', 'finance'), ('shop', 'e-commerce')
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
    columns(published_cave_arms.* exclude (arm))
from measured
left join staging.published_cave_arms
    on measured.arm = published_cave_arms.arm
    and domain = 'all'
order by measured.arm, instruction, played_by, domain = 'all', list_position(['IoT', 'finance', 'e-commerce'], domain)
