"""Training images a second and core beside torchvision with PIL: JPEG 500x375 to 224, in one run.

Usage: /usr/bin/python3 bench/image_bench.py IMAGE_BENCH [SECONDS]   (Debian: python3-torchvision)
The two take turns, so that both meet the same machine; a figure is the median of its turns.
"""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image
from torchvision import transforms
from torchvision.transforms import InterpolationMode

PROGRAM = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 2
TURNS = 5
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def write_photos(folder, count=64):
    """Something between noise and a photograph, about as large as ImageNet's files are."""
    rng = np.random.default_rng(1)
    folder.mkdir(parents=True)
    for i in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)).resize((500, 375), Image.BICUBIC)
        fine = np.asarray(coarse) + rng.normal(0, 8, (375, 500, 3))
        Image.fromarray(np.clip(fine, 0, 255).astype(np.uint8)).save(folder / f"{i}.jpg", quality=90)


def torchvision_rate(paths, interpolation, jitter):
    steps = [transforms.RandomResizedCrop(224, interpolation=interpolation), transforms.RandomHorizontalFlip()]
    if jitter:
        steps.append(transforms.ColorJitter(jitter, jitter, jitter))
    pipeline = transforms.Compose(steps + [transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    done, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        with open(paths[done % len(paths)], "rb") as file:
            pipeline(Image.open(file).convert("RGB"))
        done += 1
    return done / (time.perf_counter() - begin)


def main():
    torch.set_num_threads(1)
    print(f"torchvision {torchvision.__version__}, PIL {PIL.__version__}, one thread each, median of {TURNS} turns of {SECONDS:g} s")
    with tempfile.TemporaryDirectory() as directory:
        write_photos(pathlib.Path(directory, "train", "0"))
        paths = sorted(pathlib.Path(directory, "train", "0").iterdir())
        print(f"{len(paths)} JPEG files of 500x375, {sum(p.stat().st_size for p in paths) / len(paths) / 1024:.0f} KiB on average")
        for name, mode in (("bilinear", InterpolationMode.BILINEAR), ("bicubic", InterpolationMode.BICUBIC)):
            for jitter in (0, 0.4):
                ours, theirs = [], []
                for _ in range(TURNS):
                    ours.append(float(subprocess.check_output([PROGRAM, directory, str(SECONDS), name, str(jitter)])))
                    theirs.append(torchvision_rate(paths, mode, jitter))
                a, b = statistics.median(ours), statistics.median(theirs)
                print(f"{name:9} color-jitter {jitter:3}: centavo {a:7.1f}/s   torchvision {b:7.1f}/s   ratio {a / b:.2f}", flush=True)


if __name__ == "__main__":
    main()
