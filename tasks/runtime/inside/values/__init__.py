"""Values that cross the sandbox as plain data and Arrow streams."""
