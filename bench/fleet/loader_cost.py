#!/usr/bin/env python3
"""What PyTorch's loader costs per synthetic 224 x 224 image: core milliseconds in a loader worker (random numbers,
collating, handing over through shared memory) and in the training process (receiving, casting to bf16, copying for the
upload). The constants kSyntheticElement, kFeedElement and kReceiveElement of src/centavo/fleet/predictor.cpp come from it."""
import argparse
import resource
import time

import torch
from torch.utils.data import DataLoader, Dataset


class RandomImages(Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        return torch.randn([3, 224, 224]), torch.tensor(index % 1000)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--receive-only", action="store_true", help="neither cast nor copy: what a GPU's upload needs")
    args = parser.parse_args()
    torch.set_num_threads(1)
    batches = iter(DataLoader(RandomImages(), batch_size=args.batch, num_workers=1))
    for _ in range(4):
        next(batches)
    upload = torch.empty([args.batch, 3, 224, 224], dtype=torch.bfloat16)
    wall, own = time.perf_counter(), time.process_time()
    for _ in range(args.batches):
        images, _ = next(batches)
        if not args.receive_only:
            upload.copy_(images.to(torch.bfloat16))
    samples = args.batch * args.batches
    wall, own = time.perf_counter() - wall, time.process_time() - own
    del batches
    print(f"torch {torch.__version__}: training process {1e3 * own / samples:.3f} core ms a sample, "
          f"loader worker {1e3 * wall / samples:.3f} ms a sample")


if __name__ == "__main__":
    main()
