-- How an interval is made, as a column of its own; rows from before say it in their method.
alter table main.statistics add column interval_kind varchar;

update main.statistics
set interval_kind = case
    when analysis = 'equivalence' and method like '%bootstrap percentile%' then 'percentile'
    when analysis = 'equivalence' then 't'
    when analysis = 'replicate_rejections' then 'exact binomial'
    when method like 'bootstrap percentile%' then 'percentile'
    when method like 'bootstrap BCa%' then 'BCa'
end;
