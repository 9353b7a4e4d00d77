"""Pictures that are uploaded: admitted as they are, or refused in one sentence, and never read in this process."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from transport.errors import ImageError
from transport.images import read_field
from transport.levels import resample
from ui import images
from ui.images import ImageCard, admit, field_of, image_card

Writer = Callable[[Path], object]


def picture(path: Path, shape: tuple[int, int] = (20, 30), mode: str = "L") -> Path:
    """A bright square on black; shape: rows, columns."""
    grey = np.zeros(shape, np.uint8)
    grey[2:9, 3:12] = 200
    Image.fromarray(grey).convert(mode).save(path)
    return path


def frames(path: Path) -> None:
    first, second = (Image.new("L", (20, 20), grey) for grey in (50, 200))
    first.save(path, save_all=True, append_images=[second])


def cut(path: Path) -> None:
    Image.fromarray(np.random.default_rng(1).integers(0, 255, (200, 200), np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:4000])


def sparse(path: Path) -> None:
    """One byte more than is admitted, without writing them."""
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.truncate(images.MOST_BYTES + 1)


REFUSED: list[tuple[str, Writer, str]] = [
    ("shape.jpg", lambda p: p.write_bytes(b"\xff\xd8\xff\xe0" + b"0" * 99), "of no kind that is read here"),
    ("shape.png", lambda p: p.write_bytes(b"\xff\xd8\xff\xe0" + b"0" * 99), "not what its name says"),
    ("script.png", lambda p: p.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n"), "not what its name says"),
    ("empty.png", lambda p: p.write_bytes(b""), "is empty"),
    ("large.png", sparse, "scale it down first"),
    ("cut.png", cut, "damaged or cut short"),
    ("black.png", lambda p: Image.new("L", (20, 20)).save(p), "has no mass"),
    ("wide.png", lambda p: Image.new("L", (5000, 9), 5).save(p), "measures 5000 × 9: scale it down to at most 4096"),
    ("tiny.png", lambda p: Image.new("L", (3, 30), 5).save(p), "at least 8 pixels"),
    ("moving.png", frames, "is animated"),
    ("pages.tif", frames, "holds a volume"),
    ("volume.npy", lambda p: np.save(p, np.ones((9, 9, 9))), "holds a volume"),
    ("signed.npy", lambda p: np.save(p, np.full((9, 9), -1.0)), "holds negative values"),
    ("gaps.npy", lambda p: np.save(p, np.full((9, 9), np.nan)), "not finite"),
    ("words.npy", lambda p: np.save(p, np.full((9, 9), "a")), "real numbers"),
    ("objects.npy", lambda p: np.save(p, np.array([[{}]], object), allow_pickle=True), "plain array"),
]


def test_refusals_are_one_sentence_and_leave_nothing(tmp_path: Path) -> None:
    sources = [tmp_path / name for name, _, _ in REFUSED]
    for source, (_, write, _) in zip(sources, REFUSED, strict=True):
        write(source)
    good = picture(tmp_path / "good.png")
    *answers, last = admit(tmp_path / "runs", [*sources, good])
    for answer, (name, _, says) in zip(answers, REFUSED, strict=True):
        assert isinstance(answer, ImageError) and says in str(answer), (name, answer)
        assert str(answer).startswith((name, "reading")) and str(tmp_path) not in str(answer) and len(str(answer)) < 200
    assert isinstance(last, ImageCard)
    assert [folder.name for folder in (tmp_path / "runs" / ".images").iterdir()] == [last.id]


def test_files_that_end_their_reader_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MEMORY_GB", 0.05)
    answers = admit(tmp_path / "runs", [picture(tmp_path / "a.png"), picture(tmp_path / "b.png")])
    for told, name in zip(answers, ("a.png", "b.png"), strict=True):
        assert isinstance(told, ImageError) and str(told).startswith(f"reading {name} ended the reader (exit code ")


def test_file_that_ends_its_reader_does_not_take_others_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    read = images._child

    def child(copies: Sequence[Path]) -> str:
        """A reader that the file `bad` brings down."""
        names = [copy.stem for copy in copies]
        seen.append(names)
        return read(copies[: names.index("bad")] if "bad" in names else copies) if names[0] != "bad" else "went wrong"

    monkeypatch.setattr(images, "_child", child)
    answers = admit(tmp_path / "runs", [picture(tmp_path / f"{name}.png") for name in ("first", "bad", "last")])
    assert [type(answer) for answer in answers] == [ImageCard, ImageError, ImageCard]
    assert seen == [["first", "bad", "last"], ["last"]]


def test_slow_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "SECONDS", 0.05)
    (answer,) = admit(tmp_path / "runs", [picture(tmp_path / "a.png")])
    assert isinstance(answer, ImageError) and "took longer than 0.05 s" in str(answer)


def test_every_kind_is_what_the_library_reads(tmp_path: Path) -> None:
    picture(tmp_path / "grey.png")
    picture(tmp_path / "colour.tif", mode="RGB")
    picture(tmp_path / "other.png").rename(tmp_path / "other.tif")
    np.save(tmp_path / "field.npy", np.random.default_rng(1).random((12, 9)))
    large = picture(tmp_path / "large.png", (1024, 512))
    sources = [tmp_path / name for name in ("grey.png", "colour.tif", "field.npy")]
    *cards, big, other = admit(tmp_path / "runs", [*sources, large, tmp_path / "other.tif"])
    # The kind follows the contents, not the name.
    assert isinstance(other, ImageCard) and other.file.endswith("other.png")
    for card, source in zip(cards, sources, strict=True):
        assert isinstance(card, ImageCard)
        assert np.array_equal(field_of(card), read_field(source)) and card.shape == read_field(source).shape
        assert Path(card.file).read_bytes() == source.read_bytes() and card.name == source.stem
        assert image_card(tmp_path / "runs", card.id) == card
    assert [card.is_picture for card in cards if isinstance(card, ImageCard)] == [True, True, False]
    # Four pixels to a cell and side: the small copy is their mean.
    assert isinstance(big, ImageCard) and big.shape == (512, 1024)
    from transport.domain import Domain

    assert np.allclose(field_of(big), resample(read_field(large)[None], Domain((128, 256)))[0], atol=1e-15)


@pytest.mark.parametrize(
    "name", ["", "..", "sample-", "sample-../images/ring", "sample-make_images", "0" * 32, "0" * 31]
)
def test_ids_that_are_no_images(tmp_path: Path, name: str) -> None:
    assert image_card(tmp_path, name) is None


def test_samples_are_there_and_have_different_shapes(tmp_path: Path) -> None:
    names = images.sample_names()
    cards = [image_card(tmp_path, f"sample-{name}") for name in names]
    assert len(names) == 6 and all(card and card.shape == (256, 256) for card in cards)
    masses = [float(field_of(card).mean()) for card in cards if card]
    ring, expected = masses[names.index("ring")], np.pi * (0.74**2 - 0.56**2) / 4
    assert ring == pytest.approx(expected, rel=1e-3) and len(set(masses)) == 6


def test_uploads_are_forgotten_after_a_week(tmp_path: Path) -> None:
    old, new = tmp_path / ".images" / ("0" * 32), tmp_path / ".images" / ("1" * 32)
    for folder in (old, new):
        folder.mkdir(parents=True)
    os.utime(old, (time.time() - 8 * 86400, time.time() - 8 * 86400))
    images.forget_old(tmp_path)
    assert not old.exists() and new.exists()
