-- Behaviour per cell under every reading of appendix F
with final as (
    select
        reading_means.variant,
        reading_means.base,
        reading_means.visibility,
        reading_means.header,
        reading_means.bucket,
        reading_means.model,
        reading_means.condition as cell,
        reading_means.measured_on,
        reading_means.reading,
        reading_means.is_default,
        reading_means.context_lifespan,
        reading_means.interpreter_lifespan,
        reading_means.state_utilization,
        reading_means.redefinitions_per_step
    from marts.reading_means
    where reading_means.plan_digest = $plan_digest
)

select * from final
order by variant, base, visibility, header, bucket, model desc, cell, is_default desc, reading
