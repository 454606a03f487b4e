"""The faces: 13232 grey images of Labeled Faces in the Wild, 49 rows by 36 columns.

The public source is one text file an image in the repository mhli971/Fair-PCA.  A pixel there is the mean of three
channels, so a multiple of 1/3.  They are kept as ``lfw_49x36.npz`` with the nearest integers (`images`, uint8) and the
rest in thirds (`thirds`, int8), and are known by a checksum over these arrays, whoever compressed them.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np

from fairpca._files import Outputs
from fairpca._validation import check_choice, check_number
from fairpca.datasets._dataset import Dataset, make_dataset
from fairpca.datasets._download import (
    ChecksumError,
    DataError,
    cache_folder,
    download,
    find_file,
    make_folder,
    registry,
)

__all__ = ["FACES_FILE", "IMAGE_SHAPE", "fetch_faces", "load_lfw", "load_lfw_24x24", "read_faces"]

FACES_FILE = "lfw_49x36.npz"
IMAGE_SHAPE = (49, 36)
SMALL_SHAPE = (24, 24)
N_FACES = 13232
ARCHIVE_HOST = "https://codeload.github.com"
_DAMAGED = (
    KeyError, ValueError, RuntimeError, NotImplementedError, EOFError, OverflowError, MemoryError, zlib.error,
    zipfile.BadZipFile,
)  # fmt: skip


def content_digest(images: np.ndarray, thirds: np.ndarray, sex: np.ndarray) -> str:
    """SHA-256 of the three arrays' bytes, one after the other."""
    digest = hashlib.sha256()
    for array in (images, thirds, sex):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def read_faces(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return images, thirds and sex from a file, verified by their contents."""
    advice = "Delete the file and run: fairpca data fetch lfw"
    try:
        with np.load(path, allow_pickle=False) as archive:
            faces = archive["images"], archive["thirds"], archive["sex"]
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} does not hold the faces ({type(error).__name__}: {error}). {advice}") from error
    _check(*faces, str(path), advice)
    return faces


def _check(images: np.ndarray, thirds: np.ndarray, sex: np.ndarray, source: str, advice: str) -> None:
    actual, expected = content_digest(images, thirds, sex), registry()["faces"]["content_sha256"]
    if actual != expected:
        raise ChecksumError(f"{source}: expected SHA-256 {expected} of the faces, got {actual}. {advice}")


def fetch_faces(*, progress: bool) -> Path:
    """Download the source archive, convert it, and keep the result in the cache, unless a good copy is there."""
    target = cache_folder() / FACES_FILE
    with contextlib.suppress(DataError):
        read_faces(target)
        return target
    make_folder(target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        address = f"{ARCHIVE_HOST}/{registry()['faces']['repository']}/zip/{registry()['faces']['commit']}"
        archive = download(address, Path(folder, "source.zip"), None, name="lfw", progress=progress)
        images, thirds, sex = convert_archive(archive, progress=progress)
    _check(images, thirds, sex, address, "Nothing was kept; try again.")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, images=images, thirds=thirds, sex=sex, image_shape=np.array(IMAGE_SHAPE))
    Outputs({FACES_FILE: target}).write({FACES_FILE: buffer.getvalue()})
    return target


def convert_archive(path: Path, *, progress: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return images, thirds and sex from the source repository as a zip archive; nothing is unpacked."""
    from tqdm import tqdm

    images = np.empty((N_FACES, IMAGE_SHAPE[0] * IMAGE_SHAPE[1]), dtype=np.uint8)
    thirds = np.empty(images.shape, dtype=np.int8)
    try:
        with zipfile.ZipFile(path) as archive:
            found = (re.fullmatch(r"[^/]+/data/images/(img\d+|sex)\.txt", name) for name in archive.namelist())
            members = {match[1]: match[0] for match in found if match}
            sex = np.array(archive.read(members["sex"]).split(), dtype=np.float64)
            for i in tqdm(range(N_FACES), desc="lfw: reading faces", unit="face", disable=not progress):
                pixels = np.array(archive.read(members[f"img{i}"]).split(), dtype=np.float64)
                whole = np.rint(3 * pixels).astype(np.int16)
                nearest = (whole + 1) // 3
                images[i], thirds[i] = nearest, whole - 3 * nearest
    except _DAMAGED as error:
        raise DataError(
            f"The archive with the faces is not the expected one ({type(error).__name__}: {error}). Nothing was kept; "
            "try again, the transfer may have been cut."
        ) from error
    return images, thirds, sex.astype(np.uint8)


def _faces() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return read_faces(find_file(FACES_FILE) or fetch_faces(progress=False))


def _pixel_names(shape: tuple[int, int]) -> tuple[str, ...]:
    return tuple(f"pixel_{i}_{j}" for i in range(shape[0]) for j in range(shape[1]))


def load_lfw(*, as_frame: bool = False, dtype: str = "float64") -> Dataset:
    """Load Samadi et al.'s faces: 13232 images of 49 x 36 pixels from 0 to 255, grouped by sex.

    Each row reshapes to ``(49, 36)``.  Pixels are exact multiples of 1/3; the authors' code divides by 255.

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects.
    dtype : {"float64", "float32"}, default="float64"
        Type of the pixels: 187 MB or 93 MB.

    Returns
    -------
    Dataset
        Without a label.
    """
    check_choice("dtype", dtype, ("float64", "float32"))
    images, thirds, sex = _faces()
    return make_dataset("lfw", exact_pixels(images, thirds, dtype), None, sex, _pixel_names(IMAGE_SHAPE), as_frame)


def exact_pixels(images: np.ndarray, thirds: np.ndarray, dtype: str = "float64") -> np.ndarray:
    """Return the multiples of 1/3 that the source holds, correctly rounded."""
    pixels = images.astype(dtype)
    pixels *= 3
    pixels += thirds
    pixels /= 3
    return pixels


def load_lfw_24x24(*, as_frame: bool = False, random_state: int = 0, n_per_group: int = 2000) -> Dataset:
    """Load faces at the size that Vu et al. use: 24 x 24 pixels between 0 and 1, women first.

    The 49 x 36 images are resized by Pillow (bicubic, antialiased), as floats, and divided by 255.
    Vu et al. published neither their resizing nor the faces they drew.

    Parameters
    ----------
    as_frame : bool, default=False
        Return pandas objects.
    random_state : int, default=0
        Seed of the draw: ``default_rng(random_state).choice`` first among the women, then among the men.
    n_per_group : int, default=2000
        Faces drawn of each sex, without replacement.

    Returns
    -------
    Dataset
        With ``2 * n_per_group`` rows and 576 features.
    """
    check_number("random_state", random_state, low=0, integer=True)
    images, thirds, sex = _faces()
    smallest = int(np.bincount(sex).min())
    check_number("n_per_group", n_per_group, low=1, high=smallest, integer=True)
    rng = np.random.default_rng(random_state)
    rows = np.concatenate([rng.choice(np.flatnonzero(sex == s), n_per_group, replace=False) for s in (0, 1)])
    faces = exact_pixels(images[rows], thirds[rows], "float32")
    small = np.stack([_resize(face.reshape(IMAGE_SHAPE)) for face in faces]).reshape(len(rows), -1)
    pixels = small.astype(np.float64) / 255
    return make_dataset("lfw_24x24", pixels, None, sex[rows], _pixel_names(SMALL_SHAPE), as_frame)


def _resize(face: np.ndarray) -> np.ndarray:
    try:
        from PIL import Image
    except ImportError as error:
        raise DataError("lfw_24x24 resizes faces with Pillow. Install it: pip install 'fairpca[data]'.") from error
    return np.asarray(Image.fromarray(face).resize(SMALL_SHAPE, Image.Resampling.BICUBIC))
