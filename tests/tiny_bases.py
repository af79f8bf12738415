"""Random two-layer models of three architectures, saved as a user's folder of pretrained weights."""

from itertools import product
from pathlib import Path

from carryover.tasks.services.hub import load_tokenizer
from carryover.tasks.sft.tokenizer import build_tokenizer
from carryover.tasks.sft.training_spec import TokenizerSpec

ARCHITECTURES = ("llama", "qwen2", "qwen3")
POSITIONS = 6144
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou help.<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""A template of a base's own: it marks no replies, and opens with words of its own where a conversation does not."""

CELLS = tuple(product(("persistent", "stateless", None), ("persistent", "stateless")))
"""Train and runtime contracts of both adapters and their base."""
PLAYED_CELLS = """
select train_contract, runtime_contract, count(*)
from latest_episodes
where purpose = 'evaluation' and base = 'hub'
group by all
order by all
"""


def save_tiny_base(folder: Path, architecture: str) -> Path:
    """Save a random model with grouped heads, its tokenizer and its chat template."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    words = ["I list the items and look at the first ones.", "import json\nids = json.loads(list_items())"]
    tokenizer = load_tokenizer(build_tokenizer(words, TokenizerSpec(vocabulary_size=320), folder))
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    config = AutoConfig.for_model(
        architecture,
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=POSITIONS,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)
    return folder
