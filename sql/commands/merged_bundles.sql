-- Ids of the bundles that the warehouse holds.
select bundle_id from merged_bundles
