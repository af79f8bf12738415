-- CaveAgent: what the paper prints that does not follow from its own numbers, with our recomputation and verdict
select
    place, claim, published, recomputed, tolerance, verdict, note
from main.claims
where claims.paper = 'arXiv 2601.01569'
    and claims.verdict not in ('holds', 'unverifiable')
order by place, claim
