"""The drawings that ship with Formgrad, made from scratch: `python assets/outlines/make_outlines.py`.

lever   a lever of 140 x 70 mm with rounded corners: two bolt holes d9 on the left, a bore d16 on the right
"""

from pathlib import Path

from topopt.cad.drawing import dxf_bytes
from topopt.cad.region import Region
from topopt.cad.wires import circle, rounded_polygon

LEVER = Region(
    rounded_polygon([(0, 0), (45, 0), (140, 35), (140, 70), (0, 70)], [6, 30, 12, 12, 6]),
    (circle((12, 14), 4.5), circle((12, 56), 4.5), circle((122, 52), 8.0)),
)

if __name__ == "__main__":
    folder = Path(__file__).parent
    (folder / "lever.dxf").write_bytes(dxf_bytes([LEVER], name="lever"))
