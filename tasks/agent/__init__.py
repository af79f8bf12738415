"""The reflection-action-observation loop, its prompts, model clients and scripted teachers."""
