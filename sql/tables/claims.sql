-- Published claims and errata of both papers, with what their own tables give (the same for every plan)
with final as (
    select claims.* exclude (run_id)
    from main.claims
)

select * from final
order by verdict = 'holds', paper desc, verdict, place, claim
