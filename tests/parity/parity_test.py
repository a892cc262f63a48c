#!/usr/bin/python3
"""Parity with PyTorch: same weights and batch, first gradients and the losses of ten optimizer steps.

    parity_test.py PATH/TO/parity_dump [case ...]

The models are timm's and an MLP, written out in plain torch. Needs Debian's python3-torch (1.13.1); exits 77 without.
"""
import json
import struct
import subprocess
import sys
import tempfile

try:
    import torch
    from torch import nn
except ImportError:
    print("python3-torch is not installed")
    sys.exit(77)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = ((q @ k.transpose(-2, -1)) * (d // self.heads) ** -0.5).softmax(-1)
        return self.proj((a @ v).transpose(1, 2).reshape(n, t, d))


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        return self.fc2(nn.functional.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.attn = Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.mlp = Mlp(dim, 4 * dim)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    def __init__(self, channels, dim, patch):
        super().__init__()
        self.proj = nn.Conv2d(channels, dim, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class VisionTransformer(nn.Module):
    def __init__(self, img_size=224, patch_size=16, in_chans=3, num_classes=1000, embed_dim=192, depth=12, num_heads=3):
        super().__init__()
        self.cls_token = nn.Parameter(torch.randn(1, 1, embed_dim) * 0.02)
        self.pos_embed = nn.Parameter(torch.randn(1, (img_size // patch_size) ** 2 + 1, embed_dim) * 0.02)
        self.patch_embed = PatchEmbed(in_chans, embed_dim, patch_size)
        self.blocks = nn.Sequential(*[Block(embed_dim, num_heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, num_classes)

    def forward(self, x):
        x = self.patch_embed(x)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


class Perceptron(nn.Module):
    def __init__(self, img_size=28, in_chans=1, num_classes=10):
        super().__init__()
        widths = [in_chans * img_size * img_size, 256, 128, num_classes]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = nn.functional.gelu(layer(x))
        return self.layers[-1](x)


ODD_VIT = dict(img_size=30, patch_size=5, in_chans=3, num_classes=7, embed_dim=48, depth=3, num_heads=3)
CASES = {
    "mlp": ("mlp", Perceptron, {}, 16),
    "odd_vit": ("vit_tiny_patch16_224", VisionTransformer, ODD_VIT, 5),
    "vit_tiny": ("vit_tiny_patch16_224", VisionTransformer, {}, 2),
}


def write_safetensors(path, tensors):
    header, blobs, offset = {}, [], 0
    for name, tensor in tensors.items():
        data = tensor.detach().contiguous().numpy().tobytes()
        dtype = {torch.float32: "F32", torch.int32: "I32"}[tensor.dtype]
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [offset, offset + len(data)]}
        blobs.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read_safetensors(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            assert entry["dtype"] == "F32", entry
            raw = bytearray(data[8 + size + begin:8 + size + end])
            tensors[name] = torch.frombuffer(raw, dtype=torch.float32).reshape(entry["shape"])
    return tensors


def torch_run(model, images, labels, steps):
    """Gradients of the first step, and the losses of all."""
    optimizer = torch.optim.Adam(model.parameters())
    losses, grads = [], {}
    for step in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels.long())
        loss.backward()
        if step == 0:
            grads = {name: p.grad.clone() for name, p in model.named_parameters()}
        optimizer.step()
        losses.append(loss.item())
    return grads, losses


def check(dump, name, steps=10):
    model_name, make, options, batch = CASES[name]
    torch.manual_seed(0)
    model = make(**options)
    size, channels = options.get("img_size", 28 if name == "mlp" else 224), options.get("in_chans", 1 if name == "mlp" else 3)
    classes = options.get("num_classes", 10 if name == "mlp" else 1000)
    images, labels = torch.randn(batch, channels, size, size), torch.randint(0, classes, (batch,), dtype=torch.int32)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        source = folder + "/in.safetensors"
        write_safetensors(source, {**{k: v for k, v in model.named_parameters()}, "images": images, "labels": labels})
        results = {}
        for precision in ("fp32", "bf16-mixed"):
            target = f"{folder}/{precision}.safetensors"
            command = [dump, model_name, source, target, precision, "adam", str(steps)]
            subprocess.run(command + [f"{k}={v}" for k, v in options.items()], check=True)
            results[precision] = read_safetensors(target)
    grads, losses = torch_run(model, images, labels, steps)
    worst_gradient = max((torch.linalg.vector_norm(results["fp32"]["grad." + k] - g) / torch.linalg.vector_norm(g)).item()
                         for k, g in grads.items())
    ours = results["fp32"]["losses"].tolist()
    worst_loss = max(abs(a - b) / abs(b) for a, b in zip(ours, losses))
    mixed = results["bf16-mixed"]["losses"].tolist()
    worst_mixed = max(abs(a - b) / abs(b) for a, b in zip(mixed, ours))
    print(f"{name}: gradients within {worst_gradient:.1e}, {steps} losses within {worst_loss:.1e} of PyTorch's; "
          f"bf16-mixed losses within {worst_mixed:.1e} of fp32's")
    for what, value, bound in (("gradient", worst_gradient, 1e-4), ("loss", worst_loss, 1e-4), ("bf16-mixed loss", worst_mixed, 2e-2)):
        if not value <= bound:
            failures.append(f"{name}: {what} differs by {value:.2e}, more than {bound:.0e}: ours {ours}, mixed {mixed}, torch {losses}")
    return failures


def main():
    torch.set_num_threads(2)
    failures = [f for name in (sys.argv[2:] or CASES) for f in check(sys.argv[1], name)]
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
