"""Decoding, resizing and augmenting against PIL and torchvision, to the bit. Usage: pil_test.py IMAGE_PROBE"""
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    from PIL import Image, ImageEnhance, ImageOps
    from torchvision import transforms
except ImportError as error:
    print(f"skipped: {error} (Debian: python3-pil python3-torchvision)")
    sys.exit(77)

PROBE = sys.argv.pop(1)
SEED = int.from_bytes(os.urandom(4), "little")
FILTERS = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}


def probe(*args, image=None):
    """Runs one operation; returns its image as an array [H, W, C]."""
    data = b""
    if image is not None:
        array = np.asarray(image)
        array = array.reshape(array.shape[0], array.shape[1], -1)
        data = b"%d %d %d\n" % array.shape + array.tobytes()
    done = subprocess.run([PROBE, *map(str, args)], input=data, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    header, pixels = done.stdout.split(b"\n", 1)
    return np.frombuffer(pixels, np.uint8).reshape(tuple(map(int, header.split())))


def photo(rng, height, width, channels=3):
    """Something between noise and a photograph: coarse noise enlarged, with a little fine noise."""
    coarse = rng.integers(0, 256, (height // 8 + 2, width // 8 + 2, channels), dtype=np.uint8)
    planes = [np.asarray(Image.fromarray(coarse[..., c]).resize((width, height), Image.BICUBIC)) for c in range(channels)]
    fine = np.stack(planes, -1) + rng.normal(0, 6, (height, width, channels))
    return np.clip(fine, 0, 255).astype(np.uint8)


def as_image(array):
    return Image.fromarray(array[..., 0] if array.shape[-1] == 1 else array)


class Pil(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(SEED)
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def size(self, low=1, high=300):
        return tuple(int(x) for x in self.rng.integers(low, high, 2))

    def save(self, image, suffix, **options):
        path = os.path.join(self.dir.name, "image" + suffix)
        image.save(path, **options)
        return path

    def assert_same(self, actual, expected, what):
        expected = np.asarray(expected).reshape(actual.shape)
        worst = np.abs(actual.astype(int) - expected).max()
        self.assertEqual(worst, 0, f"{what}, seed {SEED}")

    def check_decoding(self, path, what):
        expected = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
        self.assert_same(probe("decode", path, 3), expected, what)
        height, width = expected.height, expected.width
        for _ in range(4):
            h, w = int(self.rng.integers(1, height + 1)), int(self.rng.integers(1, width + 1))
            top, left = int(self.rng.integers(0, height - h + 1)), int(self.rng.integers(0, width - w + 1))
            self.assert_same(probe("decode", path, 3, top, left, h, w), expected.crop((left, top, left + w, top + h)),
                             f"{what}, region {top} {left} {h} {w} of {height}x{width}")

    def test_jpeg(self):
        for subsampling in (0, 1, 2):
            for progressive in (False, True):
                for quality in (30, 95):
                    image = as_image(photo(self.rng, *self.size()))
                    path = self.save(image, ".jpg", quality=quality, subsampling=subsampling, progressive=progressive)
                    self.check_decoding(path, f"JPEG {subsampling} {progressive} {quality}")

    def test_jpeg_of_other_colours(self):
        grey = as_image(photo(self.rng, *self.size(), 1))
        path = self.save(grey, ".jpg", quality=90)
        self.check_decoding(path, "grey JPEG")
        self.assert_same(probe("decode", path, 1), Image.open(path), "grey JPEG as grey")
        cmyk = Image.fromarray(photo(self.rng, *self.size(), 4), "CMYK")
        self.check_decoding(self.save(cmyk, ".jpg", quality=90), "CMYK JPEG")

    def test_jpeg_reduced(self):
        """PIL's draft() asks libjpeg for the same reduction."""
        for reduce in (2, 4, 8):
            height, width = self.size(64, 300)
            path = self.save(as_image(photo(self.rng, height, width)), ".jpg", quality=90)
            image = Image.open(path)
            image.draft("RGB", (width // reduce, height // reduce))
            self.assertEqual(image.size, (-(-width // reduce), -(-height // reduce)))
            self.assert_same(probe("decode", path, 3, 0, 0, height, width, reduce), image, f"1/{reduce}")
            top, left, h, w = 19, 13, 41, 37
            actual = probe("decode", path, 3, top, left, h, w, reduce)
            self.assert_same(actual, image.crop((left // reduce, top // reduce, -(-(left + w) // reduce), -(-(top + h) // reduce))),
                             f"region at 1/{reduce}")

    def test_orientation(self):
        for orientation in range(1, 9):
            exif = Image.Exif()
            exif[0x0112] = orientation
            for suffix, options in ((".jpg", {"quality": 90}), (".png", {}), (".webp", {"lossless": True})):
                path = self.save(as_image(photo(self.rng, *self.size(8, 60))), suffix, exif=exif, **options)
                self.check_decoding(path, f"orientation {orientation} {suffix}")

    def test_png(self):
        array = photo(self.rng, *self.size(), 4)
        image = Image.fromarray(array)
        palette = image.convert("RGB").quantize(200)
        for mode in ("1", "L", "LA", "RGB", "RGBA"):
            self.check_decoding(self.save(image.convert(mode), ".png"), f"PNG {mode}")
        self.check_decoding(self.save(palette, ".png"), "PNG P")
        self.check_decoding(self.save(palette, ".png", transparency=3), "PNG P with transparency")
        self.check_decoding(self.save(image.convert("RGB").quantize(4), ".png", bits=2), "PNG P of 2 bits")

    def test_png_of_16_bits_keeps_the_high_byte(self):
        deep = self.rng.integers(0, 65536, self.size(), dtype=np.uint16)
        path = self.save(Image.fromarray(deep.astype(np.int32), "I").convert("I;16"), ".png")
        self.assert_same(probe("decode", path, 1), deep >> 8, "PNG of 16 bits")

    def test_webp(self):
        image = Image.fromarray(photo(self.rng, *self.size(2), 4))
        for mode in ("RGB", "RGBA"):
            self.check_decoding(self.save(image.convert(mode), ".webp", quality=80), f"WebP {mode}")
            self.check_decoding(self.save(image.convert(mode), ".webp", lossless=True, exact=True), f"lossless WebP {mode}")

    def test_grey_from_colour(self):
        image = as_image(photo(self.rng, *self.size()))
        self.assert_same(probe("decode", self.save(image, ".png"), 1), image.convert("L"), "RGB as grey")

    def test_damaged(self):
        image = as_image(photo(self.rng, 60, 80))
        for suffix in (".jpg", ".png", ".webp"):
            path = self.save(image, suffix)
            whole = pathlib.Path(path).read_bytes()
            for end in (0, 3, 20, len(whole) // 2, len(whole) - 20):
                pathlib.Path(path).write_bytes(whole[:end])
                with self.assertRaisesRegex(RuntimeError, "image" + suffix):
                    probe("decode", path, 3)
        animated = io.BytesIO()
        image.save(animated, "webp", save_all=True, append_images=[image.rotate(90)])
        path = self.save(image, ".webp")
        pathlib.Path(path).write_bytes(animated.getvalue())
        with self.assertRaisesRegex(RuntimeError, "animated"):
            probe("decode", path, 3)

    def test_resize(self):
        for name, pil_filter in FILTERS.items():
            for channels in (1, 3):
                for _ in range(8):
                    (height, width), (h, w) = self.size(), self.size()
                    image = as_image(photo(self.rng, height, width, channels))
                    what = f"{name} {height}x{width}x{channels} to {h}x{w}"
                    expected = np.asarray(image.resize((w, h), pil_filter))
                    self.assert_same(probe("resize", h, w, name, image=image), expected, what)
                    top, left = int(self.rng.integers(0, h)), int(self.rng.integers(0, w))
                    actual = probe("resize", h, w, name, top, left, h - top, w - left, image=image)
                    self.assert_same(actual, expected[top:, left:], what + " in part")

    def test_color(self):
        enhance = {"brightness": ImageEnhance.Brightness, "contrast": ImageEnhance.Contrast, "color": ImageEnhance.Color,
                   "sharpness": ImageEnhance.Sharpness}
        for channels in (1, 3):
            for name, make in enhance.items():
                image = as_image(photo(self.rng, *self.size(3), channels))
                for factor in (0, 1, *self.rng.uniform(0, 2, 3)):
                    self.assert_same(probe(name, factor, image=image), make(image).enhance(factor), f"{name} {factor}")
            for name, function, arguments in (
                    ("auto_contrast", ImageOps.autocontrast, [0]), ("equalize", ImageOps.equalize, [0]),
                    ("invert", ImageOps.invert, [0]), ("flip", ImageOps.mirror, [0]), ("vflip", ImageOps.flip, [0]),
                    ("posterize", ImageOps.posterize, [1, 3, 8]), ("solarize", ImageOps.solarize, [0, 77, 256])):
                for argument in arguments:
                    dark = (photo(self.rng, *self.size(3), channels) * 0.6 + 20).astype(np.uint8)
                    image = as_image(dark)
                    takes = name in ("posterize", "solarize")
                    expected = function(image, argument) if takes else function(image)
                    self.assert_same(probe(name, argument, image=image), expected, f"{name} {argument}")

    def test_affine(self):
        fill = {1: 10, 3: (10, 20, 30)}
        for name, pil_filter in FILTERS.items():
            for channels in (1, 3):
                image = as_image(photo(self.rng, *self.size(2), channels))
                shear, shift = self.rng.uniform(-0.3, 0.3), self.rng.uniform(-40, 40)
                for m in ((1, shear, 0, 0, 1, 0), (1, 0, 0, shear, 1, 0), (1, 0, shift, 0, 1, 0), (1, 0, 0, 0, 1, shift)):
                    expected = image.transform(image.size, Image.AFFINE, m, resample=pil_filter, fillcolor=fill[channels])
                    self.assert_same(probe("affine", name, *m, image=image), expected, f"{name} {m}")
                for degrees in (0, *self.rng.uniform(-30, 30, 3)):
                    expected = image.rotate(degrees, resample=pil_filter, fillcolor=fill[channels])
                    self.assert_same(probe("rotate", name, degrees, image=image), expected, f"{name} {degrees} degrees")

    def test_evaluation(self):
        """timm's: torchvision's Resize of the shorter side, then CenterCrop."""
        modes = {"bilinear": transforms.InterpolationMode.BILINEAR, "bicubic": transforms.InterpolationMode.BICUBIC}
        for name, mode in modes.items():
            for pct in (1.0, 0.875, 0.9):
                size = int(self.rng.integers(1, 100))
                image = as_image(photo(self.rng, *self.size()))
                path = self.save(image, ".png")
                pipeline = transforms.Compose([transforms.Resize(int(size / pct), interpolation=mode), transforms.CenterCrop(size)])
                self.assert_same(probe("eval", path, size, size, name, pct), pipeline(image), f"{image.size} to {size}, {pct}")


if __name__ == "__main__":
    unittest.main()
