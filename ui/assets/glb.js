// Reads the binary glTF files that Formgrad writes: one mesh of triangles in part coordinates (mm).

const COMPONENTS = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4 };
const ARRAYS = { 5120: Int8Array, 5121: Uint8Array, 5122: Int16Array, 5123: Uint16Array, 5125: Uint32Array, 5126: Float32Array };

/** -> { positions, normals, colours (or null), indices }; throws an Error with a sentence for the person who looks. */
export function parseGlb(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 20 || view.getUint32(0, true) !== 0x46546c67 || view.getUint32(8, true) > buffer.byteLength) {
    throw new Error("the picture file is not complete yet");
  }
  const jsonLength = view.getUint32(12, true);
  const document = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 20, jsonLength)));
  const start = 28 + jsonLength;
  const read = (number) => {
    const accessor = document.accessors[number];
    const bufferView = document.bufferViews[accessor.bufferView];
    const offset = start + (bufferView.byteOffset || 0) + (accessor.byteOffset || 0);
    return new ARRAYS[accessor.componentType](buffer, offset, accessor.count * COMPONENTS[accessor.type]);
  };
  const parts = document.meshes.flatMap((mesh) => mesh.primitives).map((primitive) => {
    const positions = Float32Array.from(read(primitive.attributes.POSITION));
    const indices = primitive.indices === undefined
      ? Uint32Array.from({ length: positions.length / 3 }, (_, i) => i)
      : Uint32Array.from(read(primitive.indices));
    const stored = primitive.attributes.NORMAL;
    const normals = stored === undefined ? smoothNormals(positions, indices) : Float32Array.from(read(stored));
    const colour = primitive.attributes.COLOR_0;
    const colours = colour === undefined ? null : rgb(read(colour), document.accessors[colour]);
    return { positions, normals, colours, indices };
  });
  return parts.length === 1 ? parts[0] : merged(parts);
}

function rgb(values, accessor) {
  const width = COMPONENTS[accessor.type];
  const scale = accessor.componentType === 5121 ? 255 : accessor.componentType === 5123 ? 65535 : 1;
  const out = new Float32Array(accessor.count * 3);
  for (let i = 0; i < accessor.count; i++) for (let k = 0; k < 3; k++) out[3 * i + k] = values[width * i + k] / scale;
  return out;
}

function smoothNormals(p, indices) {
  const n = new Float32Array(p.length);
  for (let t = 0; t < indices.length; t += 3) {
    const [a, b, c] = [3 * indices[t], 3 * indices[t + 1], 3 * indices[t + 2]];
    const u = [p[b] - p[a], p[b + 1] - p[a + 1], p[b + 2] - p[a + 2]];
    const v = [p[c] - p[a], p[c + 1] - p[a + 1], p[c + 2] - p[a + 2]];
    const w = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    for (const at of [a, b, c]) for (let k = 0; k < 3; k++) n[at + k] += w[k];
  }
  for (let i = 0; i < n.length; i += 3) {
    const length = Math.hypot(n[i], n[i + 1], n[i + 2]) || 1;
    for (let k = 0; k < 3; k++) n[i + k] /= length;
  }
  return n;
}

function merged(parts) {
  const size = (key) => parts.reduce((sum, part) => sum + part[key].length, 0);
  const out = { positions: new Float32Array(size("positions")), normals: new Float32Array(size("normals")), colours: null, indices: new Uint32Array(size("indices")) };
  let vertex = 0, index = 0;
  for (const part of parts) {
    out.positions.set(part.positions, vertex);
    out.normals.set(part.normals, vertex);
    out.indices.set(part.indices.map((i) => i + vertex / 3), index);
    vertex += part.positions.length;
    index += part.indices.length;
  }
  return out;
}
