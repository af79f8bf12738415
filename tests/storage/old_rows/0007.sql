-- Statistics from before, which the seventh version took in without their kind of interval.
update main.statistics set interval_kind = null;
