"""A model small enough to be made in a moment: byte tokens, ChatML, random weights, nothing from a hub."""

import itertools
from pathlib import Path

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% if enable_thinking is false %}{{ '<think></think>' }}{% endif %}{% endif %}"
)


def build_tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocabulary = {
        token: number for number, token in enumerate([*specials, *sorted(pre_tokenizers.ByteLevel.alphabet())])
    }
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.add_special_tokens(specials)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=CHAT_TEMPLATE
    )


def build_model(*, seed=0, model_type="qwen3", **overrides):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    settings = {
        "vocab_size": 259,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 1024,
        "initializer_range": 0.3,
        "bos_token_id": None,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return AutoModelForCausalLM.from_config(AutoConfig.for_model(model_type, **(settings | overrides))).eval()


def save_model(folder: Path, **settings) -> Path:
    build_model(**settings).save_pretrained(folder)
    build_tokenizer().save_pretrained(folder)
    return folder


def save_adapter(folder: Path, base: Path, *, seed: int) -> Path:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = get_peft_model(
        AutoModelForCausalLM.from_pretrained(base),
        LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "down_proj"], task_type="CAUSAL_LM"),
    )
    numbers = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data = torch.randn(parameter.shape, generator=numbers) * 0.3
    model.save_pretrained(str(folder))
    return folder


def prompt_of(length: int, start: int = 0) -> list[int]:
    """Byte tokens that do not repeat themselves within 200 tokens."""
    return list(itertools.islice((3 + (7 * number + number // 200) % 200 for number in itertools.count(start)), length))
