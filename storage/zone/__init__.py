"""Landing zone: immutable bundles of Parquet files, appended by any number of workers."""
