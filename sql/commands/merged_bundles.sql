-- The bundles that the warehouse holds, and where they landed.
select bundle_id, run_id, landing_url, row_count
from merged_bundles
order by bundle_id
