-- Table 4: the tools' own signatures beside the paper's
-- `$tools_json` is a JSON list of them in the order of the prompt.
with described_tools as (
    select unnest(
        from_json(
            cast($tools_json as json),
            '[{"call": "VARCHAR", "arguments": "VARCHAR", "returns": "VARCHAR", "summary": "VARCHAR"}]'
        ),
        recursive := true
    )
),

numbered_tools as (
    select
        described_tools.*,
        row_number() over () as position
    from described_tools
)

select
    coalesce(numbered_tools.call, table4.call) as call,
    numbered_tools.arguments, numbered_tools.returns, numbered_tools.summary,
    table4.arguments as published_arguments,
    table4.returns as published_returns,
    table4.budget_cost as published_budget_cost,
    table4.error_conditions as published_error_conditions
from numbered_tools
full outer join published.table4 on numbered_tools.call = table4.call
order by coalesce(numbered_tools.position, 0), call
