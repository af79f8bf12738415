-- where a base stands in tables that print several; null, to be sorted last, for another
create or replace macro staging.base_position(base) as
    list_position(['scratch', 'common', 'both'], base)
