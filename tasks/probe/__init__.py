"""What a Python runtime keeps between blocks, measured channel by channel and judged against its claim.

`protocol.py` is what a runtime offers, `channels.py` what is planted and looked for, `probing.py` the measurement,
`verdict.py` its judgement, `report.py` how both are printed. `connectors/` opens runtimes by name.
"""
