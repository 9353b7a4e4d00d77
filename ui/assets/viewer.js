// <form-view src="part.glb" up="z" label="...">: a part to turn around, by mouse, touch or keyboard.
//
// Orthographic, drawn only when something changed. A new `src` keeps the camera and the old picture until the new one
// is there, so a growing design does not flicker. `faces` names a JSON file { triangles: face of each triangle,
// edges: flat list of segment ends } for bodies whose faces can be picked; `roles` colours them.

import { parseGlb } from "./glb.js";

const VERTEX = `#version 300 es
in vec3 position; in vec3 normal; in vec3 tint;
uniform mat3 turn; uniform vec3 middle; uniform vec2 zoom; uniform vec2 pan; uniform float depth; uniform float lift;
out vec3 n; out vec3 c;
void main() {
  vec3 p = turn * (position - middle);
  n = turn * normal; c = tint;
  gl_Position = vec4(p.xy * zoom + pan, -p.z * depth - lift, 1.0);
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 n; in vec3 c; uniform float flat_colour; out vec4 colour;
void main() {
  vec3 m = normalize(n);
  if (!gl_FrontFacing) m = -m;
  float key = max(dot(m, normalize(vec3(-0.45, 0.65, 0.62))), 0.0);
  float fill = max(dot(m, normalize(vec3(0.75, 0.1, 0.65))), 0.0);
  float sky = 0.5 + 0.5 * m.y;
  vec3 lit = c * (0.46 + 0.16 * sky + 0.42 * key + 0.14 * fill) + 0.05 * pow(key, 24.0);
  colour = vec4(mix(lit, c, flat_colour), 1.0);
}`;
// Rows: right, up, towards the viewer, in part coordinates.
const VIEWS = {
  z: { iso: look([0.62, -0.68, 0.42], [0, 0, 1]), front: look([0, -1, 0], [0, 0, 1]), side: look([1, 0, 0], [0, 0, 1]), top: look([0, 0, 1], [0, 1, 0]) },
  y: { iso: look([0.36, 0.3, 0.88], [0, 1, 0]), front: look([0, 0, 1], [0, 1, 0]), side: look([1, 0, 0], [0, 1, 0]), top: look([0, 1, 0], [0, 0, -1]) },
};
const STEP = Math.PI / 24;

class FormView extends HTMLElement {
  static observedAttributes = ["src", "empty", "roles", "hot"];

  connectedCallback() {
    if (this.canvas) return;
    this.innerHTML = `
      <canvas tabindex="0" role="img"></canvas>
      <div class="view-empty"></div>
      <svg class="view-axes" viewBox="-34 -34 68 68" aria-hidden="true"></svg>
      <div class="view-size" aria-hidden="true"></div>
      <div class="view-buttons" role="group" aria-label="Views">
        ${["iso", "front", "side", "top"].map((v) => `<button type="button" data-view="${v}">${v}</button>`).join("")}
        <button type="button" data-view="fit" title="Fit to the window (key 0)">fit</button>
      </div>`;
    this.canvas = this.querySelector("canvas");
    this.empty = this.querySelector(".view-empty");
    this.say(this.getAttribute("empty") || "");
    this.gl = this.canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
    if (!this.gl) { this.say("This browser shows no 3-D pictures (WebGL 2 is off); the figures below hold without them."); return; }
    this.program = program(this.gl);
    this.scale = 1; this.pan = [0, 0];
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this);
    new MutationObserver(() => this.paint()).observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.load();
  }

  attributeChangedCallback(name) {
    if (!this.program) return;
    if (name === "src" || (name === "empty" && !this.getAttribute("src"))) this.load(); else this.paint();
  }

  say(text) { this.empty.textContent = text; this.empty.hidden = !text; }

  async load() {
    const src = this.getAttribute("src");
    if (!src) { this.mesh = null; this.say(this.getAttribute("empty") || ""); this.draw(); return; }
    const ticket = (this.ticket = Symbol("load"));
    try {
      const response = await fetch(src);
      if (!response.ok) throw new Error("the picture is not there");
      const mesh = parseGlb(await response.arrayBuffer());
      const faces = this.getAttribute("faces");
      mesh.faces = faces ? await (await fetch(faces)).json() : null;
      if (ticket !== this.ticket) return; // a newer one is on its way
      this.take(mesh, this.getAttribute("subject") || src);
    } catch (error) {
      if (ticket === this.ticket && !this.mesh) this.say(`No picture yet: ${error.message}.`);
    }
  }

  take(mesh, subject) {
    this.say("");
    const low = [1 / 0, 1 / 0, 1 / 0], high = [-1 / 0, -1 / 0, -1 / 0];
    for (let i = 0; i < mesh.positions.length; i++) {
      const k = i % 3, v = mesh.positions[i];
      if (v < low[k]) low[k] = v;
      if (v > high[k]) high[k] = v;
    }
    Object.assign(mesh, { low, high, radius: Math.hypot(...high.map((h, k) => h - low[k])) / 2 || 1 });
    if (subject !== this.subject) {
      // Another part: start from its standard view. The frame stays while one design forms.
      this.subject = subject;
      this.frame = { middle: high.map((h, k) => (h + low[k]) / 2), radius: mesh.radius, low, high };
      this.turn = VIEWS[this.up].iso;
      this.scale = 1; this.pan = [0, 0];
    }
    this.mesh = mesh;
    this.upload();
    this.querySelector(".view-size").textContent = high.map((h, k) => tidy(h - low[k])).join(" × ") + " mm";
    this.canvas.setAttribute("aria-label", `${this.getAttribute("label") || "Part"}, ${this.querySelector(".view-size").textContent}. Arrow keys turn it, plus and minus zoom, 0 fits it.`);
  }

  get up() { return this.getAttribute("up") === "y" ? "y" : "z"; }

  upload() {
    const { gl, mesh } = this;
    for (const buffer of Object.values(this.buffers || {})) gl.deleteBuffer(buffer);
    const fill = (data, target = gl.ARRAY_BUFFER) => { const b = gl.createBuffer(); gl.bindBuffer(target, b); gl.bufferData(target, data, gl.STATIC_DRAW); return b; };
    if (mesh.faces) expand(mesh); // faces have colours of their own, so their triangles share no vertices
    gl.bindVertexArray(null);
    this.buffers = { position: fill(mesh.positions), normal: fill(mesh.normals), tint: gl.createBuffer(), indices: fill(mesh.indices, gl.ELEMENT_ARRAY_BUFFER) };
    if (mesh.faces?.edges) this.buffers.edges = fill(new Float32Array(mesh.faces.edges));
    this.paint();
  }

  paint() {
    if (!this.mesh || !this.gl) return;
    const { gl, mesh } = this, style = getComputedStyle(this);
    const named = (name) => colour(style.getPropertyValue(name));
    const solid = named("--view-solid");
    const tint = new Float32Array(mesh.positions.length);
    const roles = JSON.parse(this.getAttribute("roles") || "{}");
    const hot = this.hasAttribute("hot") ? Number(this.getAttribute("hot")) : -1;
    const paints = { support: named("--support"), load: named("--load"), keep: named("--keep") };
    for (let v = 0; v < tint.length / 3; v++) {
      const face = mesh.faces ? mesh.faces.triangles[Math.floor(v / 3)] : -2;
      let c = mesh.colours ? mesh.colours.subarray(3 * v, 3 * v + 3) : paints[roles[face]] || solid;
      if (face === hot || face === this.under) c = [c[0] * 0.45 + 0.5, c[1] * 0.45 + 0.45, c[2] * 0.45 + 0.12];
      tint.set(c, 3 * v);
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.tint);
    gl.bufferData(gl.ARRAY_BUFFER, tint, gl.DYNAMIC_DRAW);
    this.draw();
  }

  draw() {
    const { gl, canvas } = this;
    if (!gl) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const [w, h] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (!w || !h) return;
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    gl.viewport(0, 0, w, h);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.axes();
    if (!this.mesh) return;
    const z = this.zoom();
    gl.useProgram(this.program);
    gl.enable(gl.DEPTH_TEST);
    const at = (name) => gl.getUniformLocation(this.program, name);
    gl.uniformMatrix3fv(at("turn"), true, this.turn.flat());
    gl.uniform3fv(at("middle"), this.frame.middle);
    gl.uniform2f(at("zoom"), ...z);
    gl.uniform2f(at("pan"), ...this.pan);
    gl.uniform1f(at("depth"), 0.45 / this.frame.radius);
    gl.uniform1f(at("lift"), 0);
    gl.uniform1f(at("flat_colour"), 0);
    const feed = (name, buffer) => { const i = gl.getAttribLocation(this.program, name); gl.bindBuffer(gl.ARRAY_BUFFER, buffer); gl.enableVertexAttribArray(i); gl.vertexAttribPointer(i, 3, gl.FLOAT, false, 0, 0); return i; };
    for (const name of ["position", "normal", "tint"]) feed(name, this.buffers[name]);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers.indices);
    gl.drawElements(gl.TRIANGLES, this.mesh.indices.length, gl.UNSIGNED_INT, 0);
    if (this.buffers.edges) {
      feed("position", this.buffers.edges);
      for (const [name, value] of [["normal", [0, 0, 1]], ["tint", colour(getComputedStyle(this).getPropertyValue("--view-edge"))]]) {
        const i = gl.getAttribLocation(this.program, name);
        gl.disableVertexAttribArray(i);
        gl.vertexAttrib3fv(i, value);
      }
      gl.uniform1f(at("lift"), 0.002);
      gl.uniform1f(at("flat_colour"), 1);
      gl.drawArrays(gl.LINES, 0, this.mesh.faces.edges.length / 3);
    }
  }

  /** Pixels of the window per mm, so that the part fits as it is turned now; the same along both axes. */
  zoom() {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    if (!this.fitted) {
      const { low, high, middle } = this.frame;
      const reach = [0, 1].map((row) => Math.max(...[0, 1, 2, 3, 4, 5, 6, 7].map((c) => Math.abs([0, 1, 2].reduce((s, k) => s + this.turn[row][k] * ((c >> k & 1 ? high[k] : low[k]) - middle[k]), 0)))));
      this.fitted = Math.min(0.40 * w / (reach[0] || 1), 0.38 * h / (reach[1] || 1));
      this.fittedFor = `${w}x${h}`;
    }
    if (this.fittedFor !== `${w}x${h}`) { this.fitted = 0; return this.zoom(); }
    const s = this.fitted * this.scale * 2;
    return [s / w, s / h];
  }

  axes() {
    const turn = this.turn || VIEWS[this.up].iso;
    const arrows = ["x", "y", "z"].map((name, k) => ({ name, x: turn[0][k] * 22, y: -turn[1][k] * 22, d: turn[2][k] })).sort((a, b) => a.d - b.d);
    this.querySelector(".view-axes").innerHTML = arrows.map(({ name, x, y, d }) => `<g class="axis-${name}" opacity="${d < -0.3 ? 0.55 : 1}"><line x2="${x}" y2="${y}"/><text x="${x * 1.32}" y="${y * 1.32}">${Math.hypot(x, y) > 4 ? name : ""}</text></g>`).join("");
  }

  listen() {
    const { canvas } = this;
    this.turn = VIEWS[this.up].iso;
    canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); this.grab = { x: e.clientX, y: e.clientY, moved: 0, pan: e.shiftKey || e.button === 2 }; });
    canvas.addEventListener("pointermove", (e) => {
      if (!this.grab) { this.hover(e); return; }
      const dx = e.clientX - this.grab.x, dy = e.clientY - this.grab.y;
      Object.assign(this.grab, { x: e.clientX, y: e.clientY, moved: this.grab.moved + Math.abs(dx) + Math.abs(dy) });
      if (this.grab.pan) this.shift(dx, dy); else this.spin(dx * 0.009, dy * 0.009);
    });
    canvas.addEventListener("pointerup", (e) => {
      const click = this.grab && this.grab.moved < 4;
      this.grab = null;
      if (click && this.mesh?.faces) this.dispatchEvent(new CustomEvent("pick", { bubbles: true, detail: this.faceAt(e) }));
    });
    canvas.addEventListener("pointerleave", () => { if (this.under !== undefined) { this.under = undefined; this.paint(); } });
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
    canvas.addEventListener("wheel", (e) => {
      if (document.activeElement !== canvas) return; // until the picture is clicked, the wheel scrolls the page
      e.preventDefault();
      this.magnify(Math.exp(-e.deltaY * 0.0012));
    }, { passive: false });
    canvas.addEventListener("keydown", (e) => {
      const act = { ArrowLeft: () => this.spin(-STEP, 0), ArrowRight: () => this.spin(STEP, 0), ArrowUp: () => this.spin(0, -STEP), ArrowDown: () => this.spin(0, STEP), "+": () => this.magnify(1.15), "=": () => this.magnify(1.15), "-": () => this.magnify(1 / 1.15), 0: () => this.view("fit") }[e.key];
      if (act) { e.preventDefault(); act(); }
    });
    this.querySelector(".view-buttons").addEventListener("click", (e) => { if (e.target.dataset.view) this.view(e.target.dataset.view); });
  }

  view(name) {
    if (name !== "fit") this.turn = VIEWS[this.up][name];
    this.scale = 1; this.pan = [0, 0]; this.fitted = 0;
    this.draw();
  }

  spin(a, b) {
    // Around the part's own vertical axis, then around the horizontal of the window: the part never tips over.
    const up = this.up === "y" ? 1 : 2;
    const about = this.up === "y" ? [[Math.cos(a), 0, Math.sin(a)], [0, 1, 0], [-Math.sin(a), 0, Math.cos(a)]] : [[Math.cos(a), -Math.sin(a), 0], [Math.sin(a), Math.cos(a), 0], [0, 0, 1]];
    const tilted = product([[1, 0, 0], [0, Math.cos(b), -Math.sin(b)], [0, Math.sin(b), Math.cos(b)]], product(this.turn, about));
    if (tilted[1][up] > -0.02) this.turn = tilted;
    this.draw();
  }

  shift(dx, dy) { this.pan = [this.pan[0] + 2 * dx / this.canvas.clientWidth, this.pan[1] - 2 * dy / this.canvas.clientHeight]; this.draw(); }
  magnify(factor) { this.scale = Math.min(40, Math.max(0.3, this.scale * factor)); this.draw(); }

  hover(e) {
    if (!this.mesh?.faces || this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const face = this.faceAt(e);
      if (face !== this.under) { this.under = face; this.paint(); this.dispatchEvent(new CustomEvent("hover", { bubbles: true, detail: face })); }
    });
  }

  /** The face that is nearest to the viewer under the pointer, or undefined. */
  faceAt(e) {
    const box = this.canvas.getBoundingClientRect(), z = this.zoom(), { positions: p } = this.mesh;
    const px = ((2 * (e.clientX - box.left)) / box.width - 1 - this.pan[0]) / z[0];
    const py = (1 - (2 * (e.clientY - box.top)) / box.height - this.pan[1]) / z[1];
    let best = -1 / 0, found;
    const q = new Float64Array(9);
    for (let t = 0; t < p.length; t += 9) {
      for (let v = 0; v < 3; v++) for (let row = 0; row < 3; row++) {
        const r = this.turn[row];
        q[3 * v + row] = r[0] * (p[t + 3 * v] - this.frame.middle[0]) + r[1] * (p[t + 3 * v + 1] - this.frame.middle[1]) + r[2] * (p[t + 3 * v + 2] - this.frame.middle[2]);
      }
      const area = (q[3] - q[0]) * (q[7] - q[1]) - (q[6] - q[0]) * (q[4] - q[1]);
      if (area <= 1e-12) continue;
      const u = ((px - q[0]) * (q[7] - q[1]) - (q[6] - q[0]) * (py - q[1])) / area;
      const v = ((q[3] - q[0]) * (py - q[1]) - (px - q[0]) * (q[4] - q[1])) / area;
      if (u < 0 || v < 0 || u + v > 1) continue;
      const depth = q[2] + u * (q[5] - q[2]) + v * (q[8] - q[2]);
      if (depth > best) { best = depth; found = this.mesh.faces.triangles[t / 9]; }
    }
    return found;
  }
}

/** Give every triangle its own three vertices. */
function expand(mesh) {
  const unshared = (values) => { const out = new Float32Array(mesh.indices.length * 3); mesh.indices.forEach((i, at) => out.set(values.subarray(3 * i, 3 * i + 3), 3 * at)); return out; };
  [mesh.positions, mesh.normals] = [unshared(mesh.positions), unshared(mesh.normals)];
  mesh.colours = null;
  mesh.indices = Uint32Array.from({ length: mesh.indices.length }, (_, i) => i);
}

function look(from, up) {
  const unit = (v) => v.map((x) => x / Math.hypot(...v));
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const back = unit(from), right = unit(cross(up, back));
  return [right, cross(back, right), back];
}

function product(A, B) { return A.map((row) => [0, 1, 2].map((k) => row[0] * B[0][k] + row[1] * B[1][k] + row[2] * B[2][k])); }

function colour(text) {
  const hex = text.trim().replace("#", "");
  return [0, 2, 4].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255 || 0);
}

function tidy(x) { return x >= 100 ? x.toFixed(0) : String(Number(x.toFixed(x >= 10 ? 1 : 2))); }

function program(gl) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
  return made;
}

customElements.define("form-view", FormView);
