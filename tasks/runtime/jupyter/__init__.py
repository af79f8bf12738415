"""The second backend: our step runner inside an ipykernel, spoken to through jupyter_client over ipc."""
