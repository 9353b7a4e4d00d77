// What the page does by itself: hand pictures to viewers, announce changes, light and dark, remember the run in the URL.

import "./viewer.js";

// <view-source for="watch-view" src="..." ...> passes its attributes on to a viewer that stays where it is, so that
// a page that is filled anew every two seconds does not rebuild the picture.
class ViewSource extends HTMLElement {
  static observedAttributes = ["for", "faces", "up", "label", "empty", "subject", "roles", "src"];
  connectedCallback() { this.later(); }
  attributeChangedCallback() { this.later(); }
  later() { // once for all attributes that change together
    if (this.soon) return;
    this.soon = true;
    queueMicrotask(() => { this.soon = false; if (this.isConnected) this.pass(); });
  }
  pass(tries = 40) {
    const view = document.getElementById(this.getAttribute("for"));
    if (!view) { if (tries) setTimeout(() => this.pass(tries - 1), 100); return; }
    for (const name of ["faces", "up", "label", "empty", "subject", "roles", "src"]) {
      const value = this.getAttribute(name);
      if (value === null) { if (view.hasAttribute(name)) view.removeAttribute(name); }
      else if (view.getAttribute(name) !== value) view.setAttribute(name, value);
    }
  }
}
customElements.define("view-source", ViewSource);

// <say-aloud text="..."> speaks through one live region, at most every ten seconds; the last message wins.
const live = Object.assign(document.createElement("div"), { id: "announcer", role: "status" });
live.setAttribute("aria-live", "polite");
let spoken = 0, waiting = 0;
class SayAloud extends HTMLElement {
  static observedAttributes = ["text"];
  attributeChangedCallback() { this.connectedCallback(); }
  connectedCallback() {
    const text = this.getAttribute("text") || "";
    if (!live.isConnected) document.body.append(live);
    clearTimeout(waiting);
    if (text === live.textContent) return;
    waiting = setTimeout(() => { live.textContent = text; spoken = Date.now(); }, Math.max(0, spoken + 10000 - Date.now()));
  }
}
customElements.define("say-aloud", SayAloud);

// <run-address run="..."> keeps the address of the page that of the run it shows.
class RunAddress extends HTMLElement {
  static observedAttributes = ["run"];
  attributeChangedCallback() { this.connectedCallback(); }
  connectedCallback() {
    const url = new URL(location.href), run = this.getAttribute("run");
    if (run) url.searchParams.set("run", run); else url.searchParams.delete("run");
    if (url.href !== location.href) history.replaceState(null, "", url);
  }
}
customElements.define("run-address", RunAddress);

document.addEventListener("click", (event) => {
  if (event.target.closest("#theme-switch")) {
    const dark = document.body.classList.toggle("dark");
    localStorage.setItem("formgrad-theme", dark ? "dark" : "light");
  }
  const jump = event.target.closest("[data-jump]");
  if (jump) {
    event.preventDefault();
    const place = document.getElementById(jump.dataset.jump);
    place?.scrollIntoView({ block: "center" });
    place?.querySelector("input, select, textarea, button")?.focus();
  }
});

// Every radio button of Gradio has a name of its own, so that the browser sees no groups: arrow keys are ours.
// Not in the list of runs, where choosing opens.
document.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (!step || event.target.type !== "radio" || event.target.closest(".run-list")) return;
  const group = [...(event.target.closest(".wrap")?.querySelectorAll("input[type=radio]:enabled") ?? [])];
  if (group.length < 2) return;
  const next = group[(group.indexOf(event.target) + step + group.length) % group.length];
  event.preventDefault();
  next.focus();
  next.click();
});

// A face in the list and the same face in the picture light up together.
const over = (face) => document.querySelectorAll("[data-face]").forEach((row) => row.classList.toggle("hot", row.dataset.face === String(face)));
document.addEventListener("hover", (event) => over(event.detail));
document.addEventListener("pick", (event) => document.querySelector(`[data-face="${event.detail}"]`)?.scrollIntoView({ block: "nearest" }));
for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, (event) => {
    const row = event.target.closest?.("[data-face]");
    const view = document.getElementById("body-view");
    if (!view) return;
    if (row) view.setAttribute("hot", row.dataset.face); else if (view.hasAttribute("hot")) view.removeAttribute("hot");
  });
}

const wanted = localStorage.getItem("formgrad-theme");
if (wanted) {
  const set = () => document.body.classList.toggle("dark", wanted === "dark");
  set();
  for (const wait of [200, 800, 2000]) setTimeout(set, wait); // the page sets its own choice once, after loading
}
