-- What families other than the knapsack say in the specs of their instances: tools and known names.
select distinct
    family,
    spec_json
from main.instances
where family <> 'knapsack'
order by family, spec_json
