-- ours minus the published value; null where ours was not measured on the paper's own model
create or replace macro staging.minus_published(ours, published, has_published_model) as
    if(has_published_model, ours - published, null)
