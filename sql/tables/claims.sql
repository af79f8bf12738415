-- Published claims and errata of both papers, with what their own tables give (the same for every plan)
select claims.* exclude (run_id)
from main.claims
order by verdict = 'holds', paper desc, verdict, place, claim
