"""Makes the tiny models of the real servers: a text model and a Stable Diffusion pipeline with random weights."""

import json
import os
import string
import sys

import torch
from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTokenizer,
)

folder = sys.argv[1]
torch.manual_seed(1)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def make_text_model(path, context=128, length=64):
    letters = string.ascii_lowercase + string.digits + string.punctuation
    words = "a an the red blue boat sea cat dog on in of and text word two one".split()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = list(dict.fromkeys([*special, *words, *letters, *(f"##{one}" for one in letters)]))
    write(f"{path}/vocab.txt", "\n".join(vocabulary) + "\n")
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=length,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=128,
        max_position_embeddings=context,
        initializer_range=0.3,
    )
    BertModel(config).eval().save_pretrained(path)
    BertTokenizerFast(vocab_file=f"{path}/vocab.txt", model_max_length=context).save_pretrained(path)
    kinds = ["Transformer", "Pooling", "Normalize"]
    modules = [
        {
            "idx": at,
            "name": str(at),
            "path": "" if at == 0 else f"{at}_{kind}",
            "type": f"sentence_transformers.models.{kind}",
        }
        for at, kind in enumerate(kinds)
    ]
    pooling = {"word_embedding_dimension": length, "pooling_mode_mean_tokens": True}
    write(f"{path}/modules.json", json.dumps(modules))
    write(f"{path}/1_Pooling/config.json", json.dumps(pooling))
    os.makedirs(f"{path}/2_Normalize", exist_ok=True)
    write(f"{path}/sentence_bert_config.json", json.dumps({"max_seq_length": context}))


def make_image_model(path):
    # CLIP's tokenizer with single bytes only.
    alphabet = sorted(ByteLevel.alphabet())
    tokens = [*alphabet, *(f"{one}</w>" for one in alphabet), "<|startoftext|>", "<|endoftext|>"]
    write(f"{path}-bytes/vocab.json", json.dumps({token: at for at, token in enumerate(tokens)}))
    write(f"{path}-bytes/merges.txt", "#version: 0.2\n")
    tokenizer = CLIPTokenizer(
        f"{path}-bytes/vocab.json", f"{path}-bytes/merges.txt", model_max_length=77
    )
    text = CLIPTextConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        bos_token_id=len(tokens) - 2,
        eos_token_id=len(tokens) - 1,
        pad_token_id=len(tokens) - 1,
    )
    widths = [32, 32, 32, 32]
    pipeline = StableDiffusionPipeline(
        vae=AutoencoderKL(
            block_out_channels=widths,
            down_block_types=["DownEncoderBlock2D"] * 4,
            up_block_types=["UpDecoderBlock2D"] * 4,
        ),
        text_encoder=CLIPTextModel(text),
        tokenizer=tokenizer,
        unet=UNet2DConditionModel(
            sample_size=8,
            layers_per_block=1,
            block_out_channels=(32, 64),
            cross_attention_dim=32,
            attention_head_dim=8,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        ),
        scheduler=DDIMScheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.save_pretrained(path)


make_text_model(f"{folder}/tiny")
make_image_model(f"{folder}/tiny-sd")
