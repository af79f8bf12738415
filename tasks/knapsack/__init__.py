"""The task family: Opaque Knapsack instances, exact solutions and the environment behind the tools."""
