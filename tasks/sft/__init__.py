"""From traces to trained models: checks, training data, fine-tuning."""
