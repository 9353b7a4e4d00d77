"""Paths of weights, films and the quick preview."""

import shutil
import subprocess
import time

import numpy as np
import pytest
from PIL import Image

from tests.transport import cases
from transport import ImageError, Settings
from transport.frames import interpolation, preview, weight_path, weights_along, write_frames
from transport.pictures import require_encoder, write_film


def test_weight_paths_go_straight_from_station_to_station():
    path = weight_path([[2, 0, 0], [0, 1, 0], [0, 0, 5]], 4)
    assert path.shape == (9, 3)
    assert path.sum(axis=1) == pytest.approx(1)
    assert path[0].tolist() == [1, 0, 0] and path[4].tolist() == [0, 1, 0] and path[8].tolist() == [0, 0, 1]
    assert path[1] == pytest.approx([0.75, 0.25, 0])
    with pytest.raises(ImageError, match="two weight vectors"):
        weight_path([[1, 0]], 4)


def test_two_measures_move_along_mccann_interpolation(tmp_path):
    shape = (48, 48)
    mu = [cases.disk(shape, (0.3, 0.4), 0.1), cases.disk(shape, (0.7, 0.6), 0.2)]
    seen = []
    frames = interpolation(mu, weight_path([[1, 0], [0, 1]], 4), settings=Settings((30, 60)),
                           watch=lambda k, found: seen.append(k))  # fmt: skip
    assert seen == [0, 1, 2, 3, 4]
    assert np.abs(frames[0] - mu[0]).max() < 1e-10 and np.abs(frames[4] - mu[1]).max() < 1e-10
    x = (np.arange(48) + 0.5) / 48
    for k, frame in enumerate(frames):
        t = k / 4
        centre = [(frame.sum(axis=1) @ x) / frame.sum(), (frame.sum(axis=0) @ x) / frame.sum()]
        assert centre == pytest.approx([0.3 + 0.4 * t, 0.4 + 0.2 * t], abs=2e-3)
        # Radius .1 (1 - t) + .2 t: the second moment about the centre is r^2 / 2.
        moment = (frame * ((x - centre[0])[:, None] ** 2 + (x - centre[1]) ** 2)).mean()
        assert np.sqrt(2 * moment) == pytest.approx(0.1 + 0.1 * t, abs=0.01)

    paths = write_frames(tmp_path, frames)
    assert [p.name for p in paths] == [f"frame-000{k}.png" for k in range(5)] + ["film.gif"]
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == 8 and film.size == (48, 48)


def test_so_many_weights_along_several_stations():
    path = weights_along([[2, 0, 0], [0, 1, 0], [0, 0, 5]], 5)
    assert path.tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1]]
    with pytest.raises(ImageError, match="two frames"):
        weights_along([[1, 0], [0, 1]], 1)


PICTURES = [np.full((31, 48), 25 * k, np.uint8) for k in range(6)]


def test_a_film_that_needs_ffmpeg_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for call in (lambda: require_encoder("mp4"), lambda: write_film(tmp_path / "a.mp4", PICTURES)):
        with pytest.raises(ImageError, match=r"install it \(apt-get install ffmpeg\), or ask for gif"):
            call()
    require_encoder("gif")
    with pytest.raises(ImageError, match=r"\.gif or \.mp4"):
        write_film(tmp_path / "a.avi", PICTURES)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg")
def test_mp4_films_hold_every_frame_and_are_the_same_every_time(tmp_path):
    for name in ("a.mp4", "b.mp4"):
        write_film(tmp_path / name, PICTURES, seconds=0.1)
    content = (tmp_path / "a.mp4").read_bytes()
    assert content[4:8] == b"ftyp" and content == (tmp_path / "b.mp4").read_bytes()
    command = ["ffmpeg", "-loglevel", "error", "-i", tmp_path / "a.mp4", "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    frames = np.frombuffer(raw, np.uint8).reshape(10, 32, 48)  # there and back; one row added
    assert frames[:, 15, 20] == pytest.approx([0, 25, 50, 75, 100, 125, 100, 75, 50, 25], abs=4)


def test_an_ffmpeg_that_fails_is_told_in_one_sentence(tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho no such codec >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ImageError, match=r"could not make a\.mp4 \(no such codec\)"):
        write_film(tmp_path / "a.mp4", PICTURES)


def test_the_preview_is_quick_and_near_the_answer():
    case = cases.t1((256, 256))
    first = preview(case.measures, case.weights)
    assert first.density.shape == (64, 64)
    assert first.dual_value == pytest.approx(case.value, rel=5e-3)
    used = []
    for weights in ([0.3, 0.3, 0.2, 0.2], [0.4, 0.3, 0.2, 0.1]):
        began = time.process_time()
        moved = preview(case.measures, weights, start=first.potentials)
        used.append(time.process_time() - began)
    assert min(used) < 0.3
    assert moved.dual_value == pytest.approx(0.0273812640, rel=5e-3)
