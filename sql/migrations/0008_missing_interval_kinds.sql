-- Version 7 could take rows in that had landed before it, and left their kind of interval empty.
update main.statistics
set interval_kind = case
    when analysis = 'equivalence' and method like '%bootstrap percentile%' then 'percentile'
    when analysis = 'equivalence' then 't'
    when analysis = 'replicate_rejections' then 'exact binomial'
    when method like 'bootstrap percentile%' then 'percentile'
    when method like 'bootstrap BCa%' then 'BCa'
end
where interval_kind is null;
