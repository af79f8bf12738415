"""Data checks that gate a stage: declared once, evaluated by Great Expectations, shown in Data Docs."""
