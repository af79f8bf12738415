"""The second backend: our step runner inside an ipykernel."""
