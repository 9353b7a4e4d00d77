"""Writes the C of the element kernels: straight-line code for one dimension, number of values per node and structure.

A layer of elements lies between two node planes. Along a row of nodes the butterflies in x and across the planes are
done once and shared by the two element rows that touch it; the butterflies in y, the multiplication by the matrix and
the way back are done per element, and forces leave a row of nodes only when it is complete. In two dimensions a plane
is a single row and there is nothing to share.
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pde.grid.native.modes import NO_ENTRY, Structure

HERE = Path(__file__).parent


@lru_cache
def engine_source(structure: Structure) -> str:
    """The whole C file for one structure; the values of the constants are arguments of its functions."""
    return _Writer(structure).source()


class _Writer:
    def __init__(self, structure: Structure) -> None:
        self.structure, self.modes = structure, structure.modes
        self.dim, self.dofs = self.modes.dim, self.modes.dofs
        self.active = self.modes.active
        self.coarse = structure.derived(self.modes.galerkin)
        self.tables = structure.derived(
            lambda M: self.modes.galerkin_tables(self.modes.galerkin(M)).reshape(-1, self.modes.count)
        )

    def source(self) -> str:
        count = len(self.active)
        head = f"#define DIM {self.dim}\n#define DOFS {self.dofs}\n#define ACTIVE {count}\n"
        parts = [
            head + f"#define PACKED {count * (count + 1) // 2}\n" + (HERE / "prelude.c").read_text(),
            _shuffles(),
            self._tables(),
            self._layer("fine", "f"),
            self._layer("fine", "d"),
            self._layer("hadamard", "f"),
            self._layer("stored", "f"),
            self._energy(),
            self._hadamard(),
            self._table_to_packed(),
            self._diagonals(),
            *[(HERE / name).read_text() for name in ("operate.c", "levels.c", "cycle.c", "vectors.c")],
        ]
        return "\n".join(parts)

    # -- one layer of elements ------------------------------------------------------------------------------------

    def _layer(self, kind: str, t: str) -> str:
        real, lanes = ("float", "VL") if t == "f" else ("double", "VLD")
        size = {"fine": "", "hadamard": f"{2**self.dim} * VL", "stored": "PACKED * VL"}[kind]
        stride = "STRIDE" if kind == "fine" else f"NB * {size}"
        step = "i" if kind == "fine" else f"b * {size}"
        body = self._sharing if self.dim == 3 else self._plain
        return f"""
static void layer_{kind}_{t}(const Level *L, const {real} *u0, const {real} *u1, const {real} *coef, const {real} *k,
                        {real} *f0, {real} *f1, v{t} *buffer)
{{
    const long X = L->nx + 1, R = rows_of(L), P = X * R, NB = (L->nx + {lanes} - 1) / {lanes};
    const long STRIDE = (L->nx + 2 * VL - 1) / (2 * VL) * (2 * VL);
    const long full = L->nx % {lanes} ? NB - 1 : NB;  /* blocks of which all lanes are nodes of the row */
    const v{t} zero = {{0}};
    (void)R; (void)STRIDE; (void)buffer; (void)P;
{self._constants(kind, t)}
{body(kind, t, stride, step)}
}}
"""

    def _constants(self, kind: str, t: str) -> str:
        if kind != "fine":
            return ""
        names = [f"k{n} = k[{n}]" for n in range(len(self._fine_constants()))]
        return f"    const {'float' if t == 'f' else 'double'} {', '.join(names)};"

    def _sharing(self, kind: str, t: str, stride: str, step: str) -> str:
        lanes, rows = "VL" if t == "f" else "VLD", 4 * self.dofs
        last = f"prev_{{}}_{{}}[{lanes} - 1]"
        pairs = [(c, p) for c in range(self.dofs) for p in (0, 1)]
        carries = ", ".join(f"prev_{c}_{p} = zero" for c, p in pairs)
        ends = " ".join(
            f"f{p}[{c} * P + (j - 1) * X + L->nx] {'+=' if p == 0 else '='} {last.format(c, p)};" for c, p in pairs
        )
        return f"""
    for (long b = 0; b < NB; b++) {{
        const long i = b * {lanes};
        v{t} *S = buffer + b * {2 * rows}, *G = S + {rows};
{self._node_modes(t, "0")}
        {" ".join(f"S[{4 * c + q}] = q_{c}_{q}; G[{4 * c + q}] = zero;" for c in range(self.dofs) for q in range(4))}
    }}
    for (long j = 1; j < R; j++) {{
        v{t} {carries};
        const {"float" if t == "f" else "double"} *row = coef + (j - 1) * {stride};
        for (long b = 0; b < NB; b++) {{
            const long i = b * {lanes};
            v{t} *S = buffer + b * {2 * rows}, *G = S + {rows};
{self._node_modes(t, "j * X")}
{self._across_rows(t)}
{self._multiply(kind, t, "row + " + step)}
{self._back_across_rows(t)}
{self._scatter(t, "(j - 1) * X")}
        }}
        if (full == NB) {{ {ends} }}
    }}
    const long j = R;
    v{t} {carries};
    for (long b = 0; b < NB; b++) {{
        const long i = b * {lanes};
        const v{t} *G = buffer + b * {2 * rows} + {rows};
        const v{t} {", ".join(f"g_{c}_{q} = G[{4 * c + q}]" for c in range(self.dofs) for q in range(4))};
{self._scatter(t, "(j - 1) * X")}
    }}
    if (full == NB) {{ {ends} }}"""

    def _plain(self, kind: str, t: str, stride: str, step: str) -> str:
        lanes = "VL" if t == "f" else "VLD"
        pairs = [(c, p) for c in range(self.dofs) for p in (0, 1)]
        ends = " ".join(f"f{p}[{c} * P + L->nx] {'+=' if p == 0 else '='} prev_{c}_{p}[{lanes} - 1];" for c, p in pairs)
        modes = [f"s_{q}_{c} = q_{c}_{q}" for q in range(1, 4) for c in range(self.dofs)]
        forces = [f"g_{c}_{q} = t_{q}_{c}" for q in range(1, 4) for c in range(self.dofs)]
        forces += [f"g_{c}_0 = zero" for c in range(self.dofs)]
        return f"""
    v{t} {", ".join(f"prev_{c}_{p} = zero" for c, p in pairs)};
    for (long b = 0; b < NB; b++) {{
        const long i = b * {lanes};
{self._node_modes(t, "0")}
        const v{t} {", ".join(modes)};
{self._multiply(kind, t, "coef + " + step)}
        const v{t} {", ".join(forces)};
{self._scatter(t, "0")}
    }}
    if (full == NB) {{ {ends} }}"""

    def _node_modes(self, t: str, row: str) -> str:
        """q_c_(x bit + 2 plane bit): sums and differences along x and across the two planes."""
        lines = []
        for c in range(self.dofs):
            at = f"{c} * P + {row} + i"
            lines.append(
                f"const v{t} a{c} = load_{t}(u0 + {at}), b{c} = load_{t}(u0 + {at} + 1), "
                f"c{c} = load_{t}(u1 + {at}), d{c} = load_{t}(u1 + {at} + 1);"
            )
            lines.append(
                f"const v{t} pa{c} = a{c} + c{c}, pb{c} = b{c} + d{c}, ma{c} = c{c} - a{c}, mb{c} = d{c} - b{c};"
            )
            lines.append(
                f"const v{t} q_{c}_0 = pa{c} + pb{c}, q_{c}_1 = pb{c} - pa{c}, "
                f"q_{c}_2 = ma{c} + mb{c}, q_{c}_3 = mb{c} - ma{c};"
            )
        return _indent(lines, 12)

    def _across_rows(self, t: str) -> str:
        """s_m_c from the modes of two neighbouring node rows; keeps those of the upper row for the next element."""
        lines = []
        for c in range(self.dofs):
            for q in range(4):
                m = _mode_of(q)
                at = f"S[{4 * c + q}]"
                same = f"s_{m}_{c} = q_{c}_{q} + {at}, " if m else ""
                lines.append(f"const v{t} {same}s_{m + 2}_{c} = q_{c}_{q} - {at}; {at} = q_{c}_{q};")
        return _indent(lines, 12)

    def _back_across_rows(self, t: str) -> str:
        """g_c_q: forces of the completed node row; the upper part waits in G for the next element."""
        lines = []
        for c in range(self.dofs):
            for q in range(4):
                m, at = _mode_of(q), f"G[{4 * c + q}]"
                even = f"t_{m}_{c}" if m else ""
                lines.append(f"const v{t} g_{c}_{q} = {at} + ({even} - t_{m + 2}_{c});")
                lines.append(f"{at} = {even + ' + ' if even else ''}t_{m + 2}_{c};")
        return _indent(lines, 12)

    def _scatter(self, t: str, row: str) -> str:
        """Forces from modes across the planes and along x, added to plane 0 and written to plane 1."""
        lines = []
        for c in range(self.dofs):
            for p, sign in ((0, "-"), (1, "+")):
                lines += [
                    f"const v{t} e_{c}_{p} = g_{c}_0 {sign} g_{c}_2, o_{c}_{p} = g_{c}_1 {sign} g_{c}_3;",
                    f"const v{t} right_{c}_{p} = e_{c}_{p} + o_{c}_{p};",
                    f"const v{t} w_{c}_{p} = e_{c}_{p} - o_{c}_{p} + SHIFT_{t.upper()}(prev_{c}_{p}, right_{c}_{p});",
                    f"prev_{c}_{p} = right_{c}_{p};",
                ]
        pairs = [(c, p) for c in range(self.dofs) for p in (0, 1)]
        place = {(c, p): f"f{p} + {c} * P + {row} + i" for c, p in pairs}
        whole = [
            f"store_{t}({place[c, p]}, {f'load_{t}({place[c, p]}) + ' if p == 0 else ''}w_{c}_{p});" for c, p in pairs
        ]
        some = [f"{'add' if p == 0 else 'store'}_some_{t}({place[c, p]}, w_{c}_{p}, X - i);" for c, p in pairs]
        lines += ["if (b < full) {", *["    " + s for s in whole], "} else {", *["    " + s for s in some], "}"]
        return _indent(lines, 12)

    # -- the multiplication by the element matrix -----------------------------------------------------------------

    def _multiply(self, kind: str, t: str, at: str) -> str:
        if kind == "fine":
            lines = [f"const v{t} e = load_{t}({at});", *self._times_fine(t)]
        elif kind == "hadamard":
            lines = [f"const float *h = {at};", *self._times_hadamard()]
        else:
            lines = [f"const float *A = {at};", *self._times_stored()]
        return _indent(lines, 12)

    def _fine_constants(self) -> list[tuple[int, int]]:
        """Constants of the fine kernel as differences of groups, (plus, minus); minus is -1 for a plain constant."""
        wanted: list[tuple[int, int]] = []
        for block in _blocks(self.structure.groups):
            for constant in self._block_constants(block):
                if constant not in wanted:
                    wanted.append(constant)
        return wanted

    def fine_constants(self, constants: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([constants[a] - (constants[b] if b != NO_ENTRY else 0.0) for a, b in self._fine_constants()])

    def _block_constants(self, block: list[int]) -> list[tuple[int, int]]:
        groups = self.structure.groups
        diagonal, off = _uniform(groups, block)
        if len(block) == 1 or (diagonal == off and diagonal is not None):
            return [(int(groups[block[0], block[0]]), NO_ENTRY)]
        if diagonal is not None and off is not None and len(block) > 2:
            return [(diagonal, off), (off, NO_ENTRY)]
        return [(int(groups[i, j]), NO_ENTRY) for i in block for j in block if groups[i, j] != NO_ENTRY]

    def _times_fine(self, t: str) -> list[str]:
        wanted = self._fine_constants()
        lines = [f"const v{t} ek{n} = e * k{n};" for n in range(len(wanted))]
        groups = self.structure.groups

        def name(constant: tuple[int, int]) -> str:
            return f"ek{wanted.index(constant)}"

        for block in _blocks(groups):
            s, r = [self._name("s", i) for i in block], [self._name("t", i) for i in block]
            diagonal, off = _uniform(groups, block)
            needed = self._block_constants(block)
            if len(block) == 1:
                lines.append(f"const v{t} {r[0]} = {name(needed[0])} * {s[0]};")
            elif diagonal == off and diagonal is not None:
                lines.append(f"const v{t} {r[0]} = {name(needed[0])} * ({' + '.join(s)});")
                lines.append(f"const v{t} {', '.join(f'{x} = {r[0]}' for x in r[1:])};")
            elif diagonal is not None and off is not None and len(block) > 2:
                mean = f"mean_{block[0]}"
                lines.append(f"const v{t} {mean} = {name(needed[1])} * ({' + '.join(s)});")
                lines += [f"const v{t} {x} = {name(needed[0])} * {y} + {mean};" for x, y in zip(r, s, strict=True)]
            else:
                for i, x in zip(block, r, strict=True):
                    terms = [
                        f"{name((int(groups[i, j]), NO_ENTRY))} * {y}"
                        for j, y in zip(block, s, strict=True)
                        if groups[i, j] != NO_ENTRY
                    ]
                    lines.append(f"const v{t} {x} = {' + '.join(terms)};")
        return lines

    def _times_hadamard(self) -> list[str]:
        par = self.modes.parities
        lines = [f"const vf h{p} = load_f(h + {p} * VL);" for p in range(2**self.dim)]
        for i in self.active:
            sums = []
            for p in range(2**self.dim):
                terms = [j for j in self.active if self.coarse[i, j] != NO_ENTRY and par[i] ^ par[j] == p]
                if terms:
                    inner = " + ".join(f"k[{self.coarse[i, j]}] * {self._name('s', j)}" for j in terms)
                    sums.append(f"h{p} * ({inner})")
            lines.append(f"const vf {self._name('t', i)} = {' + '.join(sums)};")
        return lines

    def _times_stored(self) -> list[str]:
        lines, n = [f"vf {', '.join(self._name('t', i) + ' = zero' for i in self.active)};"], 0
        for a, i in enumerate(self.active):
            for j in self.active[: a + 1]:
                t_i, t_j, s_i, s_j = (self._name(*x) for x in (("t", i), ("t", j), ("s", i), ("s", j)))
                mirror = f" {t_j} += m * {s_i};" if i != j else ""
                lines.append(f"{{ const vf m = load_f(A + {n} * VL); {t_i} += m * {s_j};{mirror} }}")
                n += 1
        return lines

    def _name(self, letter: str, mode: int) -> str:
        return f"{letter}_{self.modes.bits(mode)}_{self.modes.component(mode)}"

    # -- energies, set-up -----------------------------------------------------------------------------------------

    def _energy(self) -> str:
        """out = u_e^T K_e u_e of one layer."""
        dot = " + ".join(f"{self._name('s', i)} * {self._name('t', i)}" for i in self.active)
        multiply = _indent(["const vd e = zero + 1.0;", *self._times_fine("d")], 12)
        head = f"""
static void energy_d(const Level *L, const double *u0, const double *u1, const double *k, double *out, vd *buffer)
{{
    const long X = L->nx + 1, R = rows_of(L), P = X * R, NB = (L->nx + VLD - 1) / VLD;
    const vd zero = {{0}};
    (void)R; (void)buffer; (void)P;
{self._constants("fine", "d")}"""
        store = f"""
            const vd energy = {dot};
            if (i + VLD <= L->nx) store_d(out + ROW + i, energy);
            else store_some_d(out + ROW + i, energy, L->nx - i);"""
        if self.dim == 2:
            modes = [f"s_{q}_{c} = q_{c}_{q}" for q in range(1, 4) for c in range(self.dofs)]
            return f"""{head}
    for (long b = 0; b < NB; b++) {{
        const long i = b * VLD;
{self._node_modes("d", "0")}
        const vd {", ".join(modes)};
{multiply}{store.replace("ROW", "0")}
    }}
}}
"""
        rows = 4 * self.dofs
        return f"""{head}
    for (long j = 0; j < R; j++)
        for (long b = 0; b < NB; b++) {{
            const long i = b * VLD;
            vd *S = buffer + b * {rows};
{self._node_modes("d", "j * X")}
{self._across_rows("d")}
            if (j == 0) continue;
{multiply}{store.replace("ROW", "(j - 1) * L->nx")}
        }}
}}
"""

    def _tables(self) -> str:
        bits = ", ".join(str(self.modes.bits(i)) for i in self.active)
        lower = []
        for axis in range(self.dim):
            below = [i - (self.dofs << axis) for i in self.active]
            row = [self.active.index(b) if b in self.active else NO_ENTRY for b in below]
            lower.append("{" + ", ".join(map(str, row)) + "}")
        return (
            f"static const int mode_bits[ACTIVE] = {{{bits}}};\n"
            f"/* The mode without the difference along an axis; -1: a translation, which carries no stiffness. */\n"
            f"static const int lower_mode[DIM][ACTIVE] = {{{', '.join(lower)}}};\n"
        )

    def _hadamard(self) -> str:
        n, lines = 2**self.dim, []
        for axis in range(self.dim):
            for low in range(n):
                if not (low >> axis) & 1:
                    high = low | 1 << axis
                    lines.append(f"{{ const vf a = e[{low}], b = e[{high}]; e[{low}] = a + b; e[{high}] = a - b; }}")
        return "/* e[p] <- sum_c (-1)^|p & c| e[c] */\nINLINE void hadamard(vf *e)\n{\n" + _indent(lines, 4) + "\n}\n"

    def _table_to_packed(self) -> str:
        par, count = self.modes.parities, self.modes.count
        tables = self.tables.reshape(-1, count, count)
        lines, n = [], 0
        for a, i in enumerate(self.active):
            for j in self.active[: a + 1]:
                terms = [
                    f"C[{tables[p, i, j]}] * h[{p * 2**self.dim + (p ^ par[i] ^ par[j])}]"
                    for p in range(2**self.dim)
                    if tables[p, i, j] != NO_ENTRY
                ]
                lines.append(f"store_f(A + {n} * VL, {' + '.join(terms) or 'load_f(zeros)'});")
                n += 1
        return f"""
static const float zeros[VL];
static void table_to_packed(const vf *h, const float *C, float *A)
{{
    (void)C;
{_indent(lines, 4)}
}}
"""

    def _diagonals(self) -> str:
        """Nodal diagonal of an element from g[c, p] = sum_m A[(m, c), (m XOR p, c)]."""
        corners = 2**self.dim
        return f"""
{self._diagonal("hadamard", "const float *h, const float *k", corners)}
{self._diagonal("stored", "const float *A", corners)}"""

    def _diagonal(self, kind: str, arguments: str, corners: int) -> str:
        lines = []
        for c in range(self.dofs):
            for p in range(corners):
                entries = [
                    (i, i ^ 0 if p == 0 else (self.modes.bits(i) ^ p) * self.dofs + c)
                    for i in self.active
                    if self.modes.component(i) == c
                ]
                entries = [(i, j) for i, j in entries if j in self.active]
                if kind == "hadamard":
                    inner = [f"k[{self.coarse[i, j]}]" for i, j in entries if self.coarse[i, j] != NO_ENTRY]
                    value = f"load_f(h + {p} * VL) * ({' + '.join(inner)})" if inner else "load_f(zeros)"
                else:
                    inner = [f"load_f(A + {self._packed(i, j)} * VL)" for i, j in entries]
                    value = " + ".join(inner) or "load_f(zeros)"
                lines.append(f"vf g_{p}_{c} = {value};")
        for axis in range(self.dim):
            for low in range(corners):
                if (low >> axis) & 1:
                    continue
                high = low | 1 << axis
                lines += [
                    f"{{ const vf a = g_{low}_{c}, b = g_{high}_{c}; g_{low}_{c} = a - b; g_{high}_{c} = a + b; }}"
                    for c in range(self.dofs)
                ]
        lines += [f"out[{n * self.dofs + c}] = g_{n}_{c};" for n in range(corners) for c in range(self.dofs)]
        return f"INLINE void diagonal_{kind}({arguments}, vf *out)\n{{\n{_indent(lines, 4)}\n}}\n"

    def _packed(self, i: int, j: int) -> int:
        a, b = sorted((self.active.index(i), self.active.index(j)), reverse=True)
        return a * (a + 1) // 2 + b


def kernel_constants(structure: Structure, M: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """The constants that the kernels of `structure` take, for one element matrix in mode space.

    -> "fine": of M, "coarse": of B, "tables": of the C_p, in the order in which the generated code numbers them.
    """
    writer, modes = _Writer(structure), structure.modes
    B = modes.galerkin(M)
    tables = modes.galerkin_tables(B).reshape(-1, modes.count)
    return {
        "fine": writer.fine_constants(structure.constants(M)),
        "coarse": _means(writer.coarse, B),
        "tables": _means(writer.tables, tables),
    }


def _means(groups: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    there = groups >= 0
    if not there.any():
        return np.zeros(1)
    return np.bincount(groups[there], values[there]) / np.bincount(groups[there])


def _mode_of(q: int) -> int:
    # q: bit 0 is x, bit 1 is across the planes (z); the mode's bits are x, y, z.
    return (q & 1) | (q & 2) << 1


def _blocks(groups: NDArray[np.int64]) -> list[list[int]]:
    """Connected sets of modes, in order."""
    left, blocks = [i for i in range(len(groups)) if (groups[i] != NO_ENTRY).any()], []
    while left:
        block, grown = {left[0]}, set()
        while block != grown:
            grown = set(block)
            block |= {int(j) for i in grown for j in np.flatnonzero(groups[i] != NO_ENTRY)}
        blocks.append(sorted(block))
        left = [i for i in left if i not in block]
    return blocks


def _uniform(groups: NDArray[np.int64], block: list[int]) -> tuple[int | None, int | None]:
    """The constant of all diagonal entries and that of all others; None where they differ."""
    inside = groups[np.ix_(block, block)]
    on = np.eye(len(block), dtype=bool)
    diagonal, off = set(inside[on].tolist()), set(inside[~on].tolist())
    return (diagonal.pop() if len(diagonal) == 1 else None), (off.pop() if len(off) == 1 else None)


def _indent(lines: list[str], width: int) -> str:
    return "\n".join(" " * width + line for line in lines)


def _shuffles() -> str:
    """Lane permutations, for every vector width."""

    def permute(name: str, lanes: list[int]) -> str:
        return f"#define {name}(a, b) __builtin_shufflevector(a, b, {', '.join(map(str, lanes))})"

    text = []
    for k, (size, test) in enumerate(((64, "#if BYTES == 64"), (32, "#elif BYTES == 32"), (16, "#else"))):
        n, d = size // 4, size // 8
        text += [
            test,
            permute("SHIFT_F", [n - 1 + l for l in range(n)]),
            permute("SHIFT_D", [d - 1 + l for l in range(d)]),
            permute("EVEN", list(range(0, 2 * n, 2))),
            permute("ODD", list(range(1, 2 * n, 2))),
            permute("INTERLEAVE_LOW", [l // 2 + n * (l % 2) for l in range(n)]),
            permute("INTERLEAVE_HIGH", [n // 2 + l // 2 + n * (l % 2) for l in range(n)]),
        ]
        del k
    return "\n".join([*text, "#endif"])
