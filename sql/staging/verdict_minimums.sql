-- one row: what a setting needs at least for a verdict or a sentence about it; ours
select
    -- fresh instances
    20 as instance_minimum,
    -- instances, seeds and replicates in which the compared cells all ended normally, for a verdict on pairs
    20 as ended_pair_minimum,
    -- mean score of P->P, where the paper's filter of traces begins (arXiv 2603.01209, appendix C.1)
    0.5::double as learnt_score_minimum
order by instance_minimum
