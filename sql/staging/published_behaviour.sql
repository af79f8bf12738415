-- one row per trained cell that arXiv 2603.01209 prints in Tables 9 (Easy) and 10 (Hard)
with final as (
    select * from published.table9
    union all by name
    select * from published.table10
)

select * from final
