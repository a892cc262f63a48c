#!/usr/bin/python3
"""What PyTorch computes for small models of each architecture of the zoo; reference_test.cpp compares.

    make_reference.py [case ...]      writes <case>.json beside itself (all cases when none is named)

Run by hand, once an architecture, with Debian's python3-torch 1.13.1; the files are kept. The architectures are
written out here in plain torch from their papers, with timm's parameter names. Weights and inputs are a hash of name
and index, which the test makes again, so a file holds results only: logits in evaluation mode, the training loss, and
of each gradient its norm and its product with a vector of hashed numbers.
"""
import json
import math
import pathlib
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def hashed(name, count):
    """uint32 [count]: FNV-1a of the name, then a mixing of 32 bits for each index."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 % 2**32
    x = (np.arange(count, dtype=np.uint64) * 0x9E3779B9 + seed).astype(np.uint32)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    return x ^ (x >> np.uint32(16))


def uniform(name, shape, scale=1.0, base=0.0):
    """float32 in [base - scale, base + scale)."""
    values = (hashed(name, math.prod(shape)) >> np.uint32(8)).astype(np.float64) / 2**23 - 1
    return torch.from_numpy((base + scale * values).astype(np.float32).reshape(shape))


def initial(name, shape):
    if len(shape) > 1:
        return uniform(name, shape, math.sqrt(3 / (math.prod(shape) / shape[0])))
    centred_on_one = name.endswith("weight") or name.endswith("running_var")
    return uniform(name, shape, 0.2, 1.0 if centred_on_one else 0.0)


# -- transformers over patches

class PatchEmbed(nn.Module):
    def __init__(self, patch, width):
        super().__init__()
        self.proj = nn.Conv2d(3, width, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(n, t, d))


class VitBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = Mlp(width, 4 * width)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class DistilledVit(nn.Module):
    def __init__(self, img, patch, width, depth, heads, classes):
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, (img // patch) ** 2 + 2, width))
        self.dist_token = nn.Parameter(torch.zeros(1, 1, width))
        self.patch_embed = PatchEmbed(patch, width)
        self.blocks = nn.Sequential(*[VitBlock(width, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)
        self.head_dist = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patch_embed(x)
        tokens = [t.expand(len(x), -1, -1) for t in (self.cls_token, self.dist_token)]
        x = self.norm(self.blocks(torch.cat([*tokens, x], 1) + self.pos_embed))
        return (self.head(x[:, 0]) + self.head_dist(x[:, 1])) / 2


class MixerBlock(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.mlp_tokens = Mlp(tokens, width // 2)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp_channels = Mlp(width, 4 * width)

    def forward(self, x):
        x = x + self.mlp_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.mlp_channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, img, patch, width, depth, classes):
        super().__init__()
        self.stem = PatchEmbed(patch, width)
        self.blocks = nn.Sequential(*[MixerBlock((img // patch) ** 2, width) for _ in range(depth)])
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.stem(x))).mean(1))


# -- ConvNeXt

class LayerNorm2d(nn.LayerNorm):
    """Over the channels of [N, C, H, W]."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(width))
        self.conv_dw = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.mlp = Mlp(width, 4 * width)

    def forward(self, x):
        y = self.mlp(self.norm(self.conv_dw(x).permute(0, 2, 3, 1))) * self.gamma
        return x + y.permute(0, 3, 1, 2)


class ConvNextStage(nn.Module):
    def __init__(self, before, width, depth):
        super().__init__()
        self.downsample = nn.Identity() if before == width else nn.Sequential(
            LayerNorm2d(before, eps=1e-6), nn.Conv2d(before, width, 2, 2))
        self.blocks = nn.Sequential(*[ConvNextBlock(width) for _ in range(depth)])

    def forward(self, x):
        return self.blocks(self.downsample(x))


class ConvNext(nn.Module):
    def __init__(self, depths, widths, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 4, 4), LayerNorm2d(widths[0], eps=1e-6))
        self.stages = nn.Sequential(*[ConvNextStage(widths[max(i - 1, 0)], w, d)
                                      for i, (d, w) in enumerate(zip(depths, widths))])
        self.head = nn.ModuleDict({"norm": nn.LayerNorm(widths[-1], eps=1e-6),
                                   "fc": nn.Linear(widths[-1], classes)})

    def forward(self, x):
        return self.head.fc(self.head.norm(self.stages(self.stem(x)).mean((2, 3))))


# -- cases: a model, and the shape of one input

CASES = {
    "deit_distilled": (lambda: DistilledVit(12, 4, 24, 2, 3, 5), (3, 12, 12)),
    "mixer": (lambda: Mixer(12, 4, 16, 2, 5), (3, 12, 12)),
    "convnext": (lambda: ConvNext((1, 1, 2, 1), (8, 12, 16, 20), 5), (3, 48, 48)),
}
BATCH, CLASSES = 3, 5


def compute(name):
    make, shape = CASES[name]
    model = make()
    state = model.state_dict()
    for key, value in state.items():
        if value.dtype == torch.float32:
            value.copy_(initial(key, tuple(value.shape)))
    images = uniform("images", (BATCH, *shape), 1.5)
    labels = torch.arange(BATCH) % CLASSES
    logits = model.eval()(images)
    loss = F.cross_entropy(model.train()(images), labels)
    loss.backward()
    gradients = {}
    for key, p in model.named_parameters():
        probe = uniform(key + ".probe", tuple(p.shape)).double()
        gradients[key] = {"shape": list(p.shape), "norm": p.grad.double().norm().item(),
                          "probe": (p.grad.double() * probe).sum().item()}
    return {"torch": torch.__version__, "logits": logits.detach().flatten().tolist(), "loss": loss.item(),
            "gradients": gradients}


def main():
    for name in sys.argv[1:] or CASES:
        path = pathlib.Path(__file__).with_name(name + ".json")
        path.write_text(json.dumps(compute(name), indent=1) + "\n")
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
