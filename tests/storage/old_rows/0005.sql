-- The claim's bundle, which a later one would replace.
insert into main.latest_bundles by name
select
    'claims' as table_name,
    ['S', 'matched', '4.1.1'] as row_key,
    'taken' as bundle_id;
