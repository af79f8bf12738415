"""Reads a `vllm serve` command line with the installed vLLM's own parser and prints it as JSON; run as a program."""

import json
import sys
from importlib import import_module

parser_class = import_module("vllm.utils.argparse_utils").FlexibleArgumentParser
(serve,) = import_module("vllm.entrypoints.cli.serve").cmd_init()
parser = parser_class()
serve.subparser_init(parser.add_subparsers())
options = parser.parse_args(sys.argv[1:])
print(
    json.dumps(
        {
            "model": options.model_tag,
            "served_model_name": options.served_model_name,
            "adapters": {adapter.name: adapter.path for adapter in options.lora_modules or []},
            "max_lora_rank": options.max_lora_rank,
            "max_loras": options.max_loras,
            "max_model_len": options.max_model_len,
            "max_num_seqs": options.max_num_seqs,
            "gpu_memory_utilization": options.gpu_memory_utilization,
            "chat_template": options.chat_template,
            "default_chat_template_kwargs": options.default_chat_template_kwargs,
            "enable_prompt_tokens_details": options.enable_prompt_tokens_details,
        }
    )
)
