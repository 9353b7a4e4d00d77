#!/bin/sh
# Set up Formgrad in .venv: Debian packages (as root), uv, Python 3.12, the locked Python packages, this package.
# Does nothing where that has been done. Arguments: extra Debian packages, for instance chromium.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }

# Off-screen rendering needs the GL libraries, the voxel engine a C compiler, films in MP4 ffmpeg.
packages="libgl1 libegl1 libglu1-mesa libxrender1 libxcursor1 libxft2 libxinerama1 libgomp1 gcc libc6-dev ffmpeg $*"

debian_packages() {
    command -v dpkg-query >/dev/null 2>&1 || return 0
    missing=""
    for name in $packages; do
        dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing="$missing $name"
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ]; then
        say "installing$missing"
        apt-get update -qq >/dev/null
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
    else
        say "please install: sudo apt-get install$missing"
    fi
}

find_uv() {
    for uv in "$(command -v uv || true)" .tools/bin/uv; do
        [ -n "$uv" ] && [ -x "$uv" ] && { printf '%s' "$uv"; return; }
    done
    say "fetching uv"
    python3 -m venv .tools >&2 && .tools/bin/python -m pip install -q --disable-pip-version-check uv >&2
    printf '%s' .tools/bin/uv
}

# A pyenv shim answers to the name python3.12 without being one, so every candidate has to say its version itself.
find_python() {
    for python in "${FORMGRAD_PYTHON:-}" "$(command -v python3.12 || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12*/bin/python3 \
        "$(command -v python3 || true)"; do
        [ -n "$python" ] && [ -x "$python" ] || continue
        "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' >/dev/null 2>&1 || continue
        "$python" -c 'import sys; print(sys.executable)'
        return
    done
    printf '3.12'   # uv looks further, and fetches one if it may
}

stamp=.venv/.ready
wanted="$(cat requirements.lock pyproject.toml | cksum)"
if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
    debian_packages
    uv=$(find_uv)
    [ -x .venv/bin/python ] || { say "making .venv"; "$uv" venv -q --python "$(find_python)" .venv; }
    say "installing the locked packages (about 4 GB on first use)"
    "$uv" pip sync -q --python .venv/bin/python requirements.lock
    "$uv" pip install -q --python .venv/bin/python --no-deps --no-build-isolation -e .
    printf '%s' "$wanted" > "$stamp"
elif [ "$#" -gt 0 ]; then
    debian_packages
fi
