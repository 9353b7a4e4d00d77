"""Pictures, volumes, bodies and runs as densities and back; every refusal is one sentence."""

import numpy as np
import pytest
from PIL import Image

from tests.transport import cases
from transport import Domain, ImageError, TransportError
from transport.designs import read_body, read_run
from transport.images import prepare, read_field, smooth, threshold, to_pixels, write_field

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (6, 9), dtype=np.uint8)  # six rows, nine columns


def upright(rows):
    """Rows from the top -> field[ix, iy]."""
    return np.asarray(rows, float)[::-1].T


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_grey_pictures(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    Image.fromarray(GREY).save(path)
    assert read_field(path) == pytest.approx(upright(GREY) / 255, abs=1e-15)
    assert read_field(path, invert=True) == pytest.approx(1 - upright(GREY) / 255, abs=1e-15)
    deep = GREY.astype(np.uint16) * 257
    Image.fromarray(deep).save(path)
    assert read_field(path) == pytest.approx(upright(GREY) / 255, abs=1e-15)


def test_colour_counts_by_luminance_and_opacity(tmp_path):
    colour = RNG.integers(0, 256, (4, 5, 4), dtype=np.uint8)
    light = colour[..., :3] @ [0.2126, 0.7152, 0.0722] / 255
    Image.fromarray(colour[..., :3]).save(tmp_path / "rgb.png")
    assert read_field(tmp_path / "rgb.png") == pytest.approx(upright(light), abs=1e-12)
    Image.fromarray(colour).save(tmp_path / "rgba.png")
    assert read_field(tmp_path / "rgba.png") == pytest.approx(upright(light * colour[..., 3] / 255), abs=1e-12)
    Image.fromarray(GREY > 127).save(tmp_path / "bit.png")
    assert read_field(tmp_path / "bit.png") == pytest.approx(upright(GREY > 127), abs=1e-12)
    Image.fromarray(GREY).convert("P").save(tmp_path / "palette.png")
    assert read_field(tmp_path / "palette.png") == pytest.approx(upright(GREY) / 255, abs=1e-12)


def test_float_and_many_page_tiff(tmp_path):
    values = RNG.random((5, 7)).astype(np.float32)
    Image.fromarray(values).save(tmp_path / "f.tif")
    assert np.array_equal(read_field(tmp_path / "f.tif"), upright(values))
    pages = [Image.fromarray(GREY), Image.fromarray(GREY // 2), Image.fromarray(GREY // 3)]
    pages[0].save(tmp_path / "stack.tif", save_all=True, append_images=pages[1:])
    stack = read_field(tmp_path / "stack.tif")
    assert stack.shape == (9, 6, 3)
    assert stack[..., 1] == pytest.approx(upright(GREY // 2) / 255, abs=1e-15)


@pytest.mark.parametrize("shape", [(7, 5), (4, 6, 5)])
@pytest.mark.parametrize("suffix", [".npy", ".vti"])
def test_arrays_and_vtk_images_return_as_written(tmp_path, shape, suffix):
    density = RNG.random(shape)
    path = tmp_path / f"a{suffix}"
    write_field(path, density, domain=Domain(shape, tuple(float(n) for n in shape)))
    assert np.array_equal(read_field(path), density)


def test_pictures_return_to_sixteen_bits(tmp_path):
    density = RNG.random((12, 8))
    write_field(tmp_path / "a.png", density)
    assert np.abs(read_field(tmp_path / "a.png") * density.max() - density).max() < 1e-5
    assert to_pixels(np.array([[0, 0], [1, 2.0]])).tolist() == [[0, 255], [0, 128]]
    assert to_pixels(np.array([[0, 0], [1, 2.0]]), peak=4, invert=True).tolist() == [[255, 127], [255, 191]]


def test_prepare_scales_pads_and_floors():
    a, b = cases.disk((40, 40), (0.5, 0.5), 0.3), cases.box((40, 40), (0.2, 0.3), (0.6, 0.9))
    both = prepare([a, b], size=20, padding=0.25, floor=0.01)
    assert both.shape == (2, 20, 20)
    assert both.mean(axis=(1, 2)) == pytest.approx(1, abs=1e-12)
    # A floor of 1 % leaves 1/1.01 of the mass to the shape.
    assert both.min() == pytest.approx(0.01 / 1.01, rel=1e-9)
    assert np.array_equal(both[:, 0], both[:, -1])
    assert prepare([a, b]) == pytest.approx(np.stack([a, b]), abs=1e-13)


def test_prepare_brings_different_sizes_to_common_proportions():
    wide, tall = np.ones((40, 20)), np.ones((30, 60))
    both = prepare([wide, tall], resize=True)
    assert both.shape == (2, 60, 60)
    assert (both[0][:, 15:45] > 0).all() and both[0][:, :15].max() == 0 and both[0][:, 45:].max() == 0
    assert (both[1][15:45] > 0).all() and both[1][:15].max() == 0
    with pytest.raises(ImageError, match=r"a\.png has 40 x 20 cells, b\.png 30 x 60: .* --resize"):
        prepare([wide, tall], ["a.png", "b.png"])


def test_smoothing_keeps_the_mass():
    density = np.zeros((20, 30))
    density[0, 0], density[10, 12] = 3, 5
    assert smooth(density).sum() == pytest.approx(8, rel=1e-12)
    assert smooth(density)[10, 12] == pytest.approx(5 / (2 * np.pi), rel=0.02)


def test_threshold_meets_the_volume_exactly():
    density = cases.bump((50, 40), (0.5, 0.5), 0.15)
    for fraction in (0.01, 0.1, 0.3):
        solid = threshold(density, fraction)
        assert solid.sum() == round(fraction * density.size)
        assert density[solid].min() >= density[~solid].max()
    for bad in (0.0, 1.2, 0.9, -1.0):
        with pytest.raises(ImageError, match="volume fraction"):
            threshold(density, bad)


def test_bodies_become_the_part_of_each_voxel_that_they_fill(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box(extents=(4, 2, 1)).export(tmp_path / "box.stl")
    box = read_body(tmp_path / "box.stl", 44)
    assert box.shape == (44, 24, 14)
    assert box.sum() * 0.1**3 == pytest.approx(8, rel=1e-6)
    assert box[2:-2, 2:-2, 2:-2].min() == pytest.approx(1) and box[0].max() == 0
    trimesh.creation.icosphere(4, 1.0).export(tmp_path / "ball.stl")
    ball = read_body(tmp_path / "ball.stl", 40)
    voxel = 2 / 36
    assert ball.sum() * voxel**3 == pytest.approx(4 / 3 * np.pi, rel=5e-3)
    open_box = trimesh.creation.box()
    open_box.update_faces(np.arange(12) > 1)
    open_box.export(tmp_path / "open.stl")
    with pytest.raises(ImageError, match="not closed"):
        read_field(tmp_path / "open.stl")
    (tmp_path / "text.stl").write_text("hello")
    with pytest.raises(ImageError, match=r"text\.stl"):
        read_field(tmp_path / "text.stl")


def test_designs_of_finished_runs(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    (tmp_path / "artifacts").mkdir()
    grid = pyvista.ImageData(dimensions=(6, 5, 4), spacing=(2.0, 2.0, 2.0), origin=(-3.0, 1.0, 7.0))
    density = RNG.random((5, 4, 3))
    density[2, 2, 2] = 0
    keep = density > 0
    grid.cell_data["density"], grid.cell_data["fraction"] = density.ravel(order="F"), np.full(60, 0.5)
    cells = grid.extract_cells(np.flatnonzero(keep.ravel(order="F")))
    cells.save(tmp_path / "artifacts" / "part.vtu")
    assert read_run(tmp_path) == pytest.approx(0.5 * density, abs=1e-12)
    with pytest.raises(ImageError, match=r"part\.vtu"):
        read_run(tmp_path / "artifacts")


def test_files_that_cannot_be_read_are_refused_in_one_sentence(tmp_path):
    frames = [Image.fromarray(GREY), Image.fromarray(255 - GREY)]
    frames[0].save(tmp_path / "film.gif", save_all=True, append_images=frames[1:])
    Image.fromarray(GREY).save(tmp_path / "one.gif")
    (tmp_path / "text.png").write_text("hello")
    whole = tmp_path / "whole.png"
    Image.fromarray(RNG.integers(0, 255, (64, 64), dtype=np.uint8)).save(whole)
    (tmp_path / "cut.png").write_bytes(whole.read_bytes()[:1500])
    np.save(tmp_path / "objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    np.save(tmp_path / "line.npy", np.ones(5))
    np.save(tmp_path / "complex.npy", np.ones((4, 4), complex))
    (tmp_path / "text.vti").write_text("hello")
    (tmp_path / "a.docx").write_text("hello")
    for name, sentence in {
        "film.gif": "animated",
        "one.gif": "save it as PNG",
        "text.png": "not a picture",
        "cut.png": "damaged or cut short",
        "objects.npy": "plain array",
        "line.npy": "two or three axes",
        "complex.npy": "real numbers",
        "text.vti": "not a VTK image",
        "a.docx": "cannot be read",
        "missing.png": "does not exist",
    }.items():
        with pytest.raises(ImageError, match=sentence) as caught:
            read_field(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_a_picture_of_many_pixels_is_refused_before_it_is_unpacked(tmp_path):
    # The header of a 16384 x 16384 picture; its pixels are never asked for.
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 16384, 16384, 8, 0, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    (tmp_path / "huge.png").write_bytes(content)
    with pytest.raises(ImageError, match=r"huge\.png has more than 178 million pixels"):
        read_field(tmp_path / "huge.png")


def test_what_cannot_be_prepared_is_refused():
    one = np.ones((8, 8))
    for fields, options, sentence in (
        ([one], {}, "at least two"),
        ([one, np.zeros((8, 8))], {}, "density 2 has no mass"),
        ([one, -one], {}, "negative"),
        ([one, np.full((8, 8), np.inf)], {}, "not finite"),
        ([one, np.ones((8, 8, 8))], {}, "cannot be mixed"),
        ([one, one], {"size": 4}, "too small"),
        ([one, one], {"floor": 1.0}, "from 0 to below 1"),
    ):
        with pytest.raises(TransportError, match=sentence):
            prepare(fields, **options)
