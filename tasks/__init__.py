"""Tasks of the pipeline: one thin Prefect task per module, the domain in the packages beside them."""
