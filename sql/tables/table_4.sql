-- Table 4: the tools' own signatures beside the paper's
-- `$tools_json` is a JSON list of them in the order of the prompt.
select
    coalesce(value ->> 'call', table_4.call) as call,
    value ->> 'arguments' as arguments,
    value ->> 'returns' as returns,
    value ->> 'summary' as summary,
    table_4.arguments as published_arguments,
    table_4.returns as published_returns,
    table_4.budget_cost as published_budget_cost,
    table_4.error_conditions as published_error_conditions
from json_each(cast($tools_json as json)) as tools
full join published.table_4 on (value ->> 'call') = table_4.call
order by coalesce(cast(tools.key as integer), -1), call
