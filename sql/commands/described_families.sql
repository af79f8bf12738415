-- What a family other than the knapsack says of itself in the spec of its instances: tools and known names.
select
    family,
    any_value(spec_json) as spec_json
from main.instances
where family <> 'knapsack'
group by family
order by family
