-- the one setting in which the cells of arXiv 2603.01209 were played; no other stands beside its published values
select
    'main' as variant,
    'declared' as visibility,
    'names' as header
order by variant
