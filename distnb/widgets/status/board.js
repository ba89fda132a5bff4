// Parts of a page that change by themselves, and buttons that tell which of them was pressed.

const PARTS = ["cell", "engines", "arrays", "note"];

/** Put other content into a part: what is open, scrolled or focused there stays so. */
export function fill(box, content) {
  const all = (selector) => [...box.querySelectorAll(selector)];
  const open = all("details").map((details) => details.open);
  const places = all(".scroll").map((frame) => [frame.scrollLeft, frame.scrollTop]);
  const reached = "button, summary, .scroll";
  const at = all(reached).indexOf(box.ownerDocument.activeElement);
  box.innerHTML = content;
  all("details").forEach((details, i) => (details.open = open[i] ?? details.open));
  all(".scroll").forEach((frame, i) => {
    [frame.scrollLeft, frame.scrollTop] = places[i] ?? [0, 0];
  });
  if (at >= 0) all(reached)[at]?.focus({ preventScroll: true });
}

/** Say that nobody is there any more who would change the parts, or do what buttons say. */
function forsake(root) {
  root.querySelectorAll("button").forEach((button) => (button.disabled = true));
  root.querySelector(".note").textContent =
    "The kernel has gone, so this is how it was: call dnb.dashboard() for one that moves.";
}

function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "distnb distnb-board";
  root.dataset.lmSuppressShortcuts = "true";
  const parts = PARTS.map((name) => {
    const box = document.createElement("div");
    box.className = name;
    if (name === "note") box.setAttribute("role", "status");
    const update = () => fill(box, model.get(name));
    model.on(`change:${name}`, update);
    update();
    root.append(box);
    return [name, update];
  });
  root.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-key]");
    if (button) model.send({ press: button.dataset.key });
  });
  el.append(root);
  // JupyterLab's widgets: it ends with the kernel, and comes back in a new model only
  const gone = () => forsake(root);
  model.on("comm_live_update", gone);
  return () => {
    model.off("comm_live_update", gone);
    parts.forEach(([name, update]) => model.off(`change:${name}`, update));
  };
}

export default { render };
