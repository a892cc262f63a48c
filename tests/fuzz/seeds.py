"""Seeds for the fuzzers. Usage: seeds.py DIR (makes DIR/fuzz_idx, DIR/fuzz_image and DIR/fuzz_tar)"""
import gzip
import io
import pathlib
import struct
import sys
import tarfile

import numpy as np
from PIL import Image

root = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(1)


def put(target, name, content):
    (root / target).mkdir(parents=True, exist_ok=True)
    (root / target / name).write_bytes(content)


def encoded(mode, **options):
    channels = {"L": 1, "RGB": 3, "RGBA": 4, "CMYK": 4, "P": 1}[mode]
    pixels = rng.integers(0, 256, (24, 31, channels), dtype=np.uint8)
    image = Image.fromarray(pixels[..., 0] if channels == 1 else pixels, "L" if mode == "P" else mode)
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    (image.convert("P") if mode == "P" else image).save(out, exif=exif, **options)
    return out.getvalue()


for mode, options in (("L", {"format": "JPEG"}), ("RGB", {"format": "JPEG"}), ("CMYK", {"format": "JPEG"}),
                      ("RGB", {"format": "JPEG", "progressive": True}), ("L", {"format": "PNG"}),
                      ("P", {"format": "PNG"}), ("RGBA", {"format": "PNG"}), ("RGB", {"format": "WEBP"}),
                      ("RGBA", {"format": "WEBP", "lossless": True})):
    put("fuzz_image", "-".join([mode, *map(str, options.values())]), encoded(mode, **options))
for dims in ((3,), (2, 3, 4)):
    idx = bytes([0, 0, 8, len(dims)]) + struct.pack(f">{len(dims)}I", *dims) + bytes(int(np.prod(dims)))
    put("fuzz_idx", f"plain{len(dims)}", idx)
    put("fuzz_idx", f"gzip{len(dims)}", gzip.compress(idx))
for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as tar:
        for name, content in (("a/1.jpg", b"j" * 600), ("a/1.cls", b"1"), ("d" * 60 + "/" + "n" * 90 + ".txt", b"t")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    put("fuzz_tar", f"format{kind}", out.getvalue())
