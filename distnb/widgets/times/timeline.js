// The timeline of a report. First what is computed (tests run this under node and compare it with
// Python), then what is drawn. Times are nanoseconds since the window began.

const BOOKED = ["compute", "waiting", "transfer", "overhead", "messages", "bytes"];
export const CLASSES = ["compute", "waiting", "transfer", "overhead", "idle"];
const [COMPUTE, WAITING, TRANSFER, OVERHEAD, IDLE] = CLASSES.keys();
const [MESSAGES, BYTES] = [4, 5];
const NOTEBOOK = -1;
/** What the notebook does itself while no engine has a command; these come after the classes. */
const OWN = ["notebook", "disk"];
const [ITSELF, DISK] = OWN.map((_, i) => CLASSES.length + i);
const MARKS = 400;
const ARROWS = 100;

// -- Reading -------------------------------------------------------------------------------------

/** Return the rows of a table: objects with these keys, and `booked` if columns are left over. */
function rows(bytes, keys, booked = 0) {
  const from = bytes.byteOffset;
  const numbers = new Float64Array(bytes.buffer.slice(from, from + bytes.byteLength));
  const width = keys.length + booked;
  return Array.from({ length: numbers.length / width }, (_, i) => {
    const row = Object.fromEntries(keys.map((key, j) => [key, numbers[i * width + j]]));
    if (booked) row.booked = numbers.slice(i * width + keys.length, (i + 1) * width);
    return row;
  });
}

/** Return a run: the tables as objects, and what is the same for every part of its window. */
export function unpack(data) {
  const run = {
    ...data,
    spans: rows(data.spans, ["step", "rank", "start", "end", "touched", "held", "of"], BOOKED.length),
    parts: rows(data.parts, ["step", "op", "calls"], BOOKED.length),
    sends: rows(data.sends, ["step", "rank", "to", "messages", "bytes"]),
    waits: rows(data.waits, ["step", "rank", "by", "ns"]),
    gaps: rows(data.gaps, ["start", "end", "idle", "computed", "disk"]),
  };
  const size = run.engines.length;
  const at = new Map(run.spans.map((span, i) => [span.step * size + span.rank, i]));
  const find = (step, rank) => at.get(step * size + rank) ?? -1;
  const triple = (step, rank, by) => (step * size + rank) * size + by;
  const waited = new Set(run.waits.map((wait) => triple(wait.step, wait.rank, wait.by)));
  for (const wait of run.waits) wait.span = find(wait.step, wait.rank);
  for (const send of run.sends) {
    send.from = run.spans[find(send.step, send.rank)];
    send.by = run.spans[find(send.step, send.to)];
    send.late = waited.has(triple(send.step, send.to, send.rank));
  }
  run.groups = Math.ceil(run.recorded / run.each);
  run.sums = Array.from({ length: run.groups }, zeros);
  run.lanes = run.engines.map(() => []);
  run.rest = run.engines.map((row) => Float64Array.from(row)); // what no step books
  for (const span of run.spans) {
    run.lanes[span.rank].push(span);
    add(run.rest[span.rank], span.booked, -1);
    add(run.sums[span.step], span.booked, 1);
  }
  run.lanes.forEach((lane) => lane.sort((a, b) => a.start - b.start));
  run.free = run.lanes.map((lane) => lane.reduce((left, span) => left - busy(span.booked), run.wall));
  run.opsOf = Array.from({ length: run.groups }, () => []);
  for (const part of run.parts) run.opsOf[part.step].push(part.op);
  run.steps = extents(run);
  return run;
}

const zeros = () => new Float64Array(BOOKED.length);
const busy = (booked) => booked[COMPUTE] + booked[WAITING] + booked[TRANSFER] + booked[OVERHEAD];

function add(to, from, part) {
  for (let i = 0; i < to.length; i++) to[i] += part * from[i];
}

/** Return when each step begins, in order, and when it ends or the next one begins. */
function extents(run) {
  const found = new Map();
  for (const { step, start, end } of run.spans) {
    const was = found.get(step);
    if (!was) found.set(step, { step, start, end });
    else [was.start, was.end] = [Math.min(was.start, start), Math.max(was.end, end)];
  }
  const sorted = [...found.values()].sort((a, b) => a.start - b.start || a.step - b.step);
  return sorted.map((at, i) => ({ ...at, end: Math.min(at.end, sorted[i + 1]?.start ?? at.end) }));
}

// -- Numbers of a part of the window -------------------------------------------------------------

/** Return which share of a span lies in [from, to]. */
function share({ start, end }, from, to) {
  if (end <= start) return start >= from && start <= to ? 1 : 0;
  return Math.max(0, Math.min(end, to) - Math.max(start, from)) / (end - start);
}

/**
 * Return the numbers of [from, to]: the same as the report's, if that is the whole window.
 *
 * A span that is cut books in proportion. What engines did between steps is spread evenly over the
 * time that no step books. So the classes of each engine add up to `to - from`.
 */
export function metrics(run, from, to) {
  const engines = run.engines.map(zeros);
  const sums = Array(run.groups).fill(null);
  const parts = run.spans.map((span) => {
    const part = share(span, from, to);
    if (!part) return 0;
    add(engines[span.rank], span.booked, part);
    add((sums[span.step] ??= zeros()), span.booked, part);
    return part;
  });
  const spent = engines.map((row, rank) => {
    const free = Math.max(0, to - from - busy(row));
    if (run.free[rank] > 0) add(row, run.rest[rank], free / run.free[rank]);
    return [...row.slice(0, IDLE), Math.max(0, to - from - busy(row))];
  });
  const compute = spent.map((row) => row[COMPUTE]);
  const total = compute.reduce((a, b) => a + b, 0);
  const away = run.gaps.reduce((sum, gap) => sum + gap.idle * share(gap, from, to), 0);
  return {
    from,
    to,
    engines: spent,
    messages: engines.map((row) => row[MESSAGES]),
    bytes: engines.map((row) => row[BYTES]),
    balance: total ? total / compute.length / Math.max(...compute) : 1,
    efficiency: total && to > from ? total / compute.length / (to - from) : 0,
    dispatch: to > from ? 1 - away / (to - from) : 1,
    ops: opsIn(run, sums),
    waits: waitsIn(run, parts),
  };
}

/** Return [op, line, calls, what is booked ...] of the operations of steps, in proportion. */
function opsIn(run, sums) {
  const found = new Map();
  for (const { step, op, calls, booked } of run.parts) {
    const [part, whole] = [sums[step], run.sums[step]];
    if (!part) continue;
    if (!found.has(op)) found.set(op, [...run.names[op], 0, 0, 0, 0, 0, 0, 0]);
    const row = found.get(op);
    row[2] += calls;
    for (let i = 0; i < part.length; i++) {
      if (whole[i]) row[3 + i] += (booked[i] * part[i]) / whole[i];
    }
  }
  return [...found.values()];
}

/** Return for each engine the one that it waited for most, and how long: [rank, ns] or null. */
function waitsIn(run, parts) {
  const sums = run.engines.map(() => new Map());
  for (const wait of run.waits) {
    const ns = wait.ns * (parts[wait.span] ?? 0);
    if (ns) sums[wait.rank].set(wait.by, (sums[wait.rank].get(wait.by) ?? 0) + ns);
  }
  return sums.map((of) => [...of].sort((a, b) => b[1] - a[1])[0] ?? null);
}

// -- What is drawn of it -------------------------------------------------------------------------

/** Return at most about `most` marks for the spans in view: neighbours of a row share one. */
export function marks(run, from, to, most = MARKS) {
  const seen = run.lanes.map((lane) => lane.filter((s) => s.end >= from && s.start <= to));
  const count = seen.reduce((sum, lane) => sum + lane.length, 0);
  const each = Math.max(1, Math.ceil(count / Math.max(1, most - seen.length)));
  const drawn = seen.flatMap((lane) => chunks(lane, each).map(together));
  return { drawn, count, each };
}

function chunks(list, size) {
  const count = Math.ceil(list.length / size);
  return Array.from({ length: count }, (_, i) => list.slice(i * size, (i + 1) * size));
}

function together(spans) {
  const booked = zeros();
  for (const span of spans) add(booked, span.booked, 1);
  return {
    rank: spans[0].rank,
    first: spans[0].step,
    last: spans[spans.length - 1].step,
    start: spans[0].start,
    end: Math.max(...spans.map((span) => span.end)),
    touched: spans.reduce((sum, span) => sum + span.touched, 0),
    held: spans.reduce((sum, span) => sum + span.held, 0),
    of: spans.reduce((sum, span) => sum + span.of, 0),
    booked,
  };
}

/** Return the heaviest messages in view, as arrows between times of steps. */
export function arrows(run, from, to, most = ARROWS) {
  const seen = [];
  for (const send of run.sends) {
    const { from: a, by: b } = send;
    if (a && b && Math.max(a.end, b.end) >= from && Math.min(a.start, b.start) <= to) {
      seen.push({ ...send, start: a.start, end: arrival(a, b) });
    }
  }
  const drawn = seen.sort((a, b) => b.bytes - a.bytes).slice(0, most);
  return { drawn, count: seen.length };
}

/** A message was there by the end of what its receiver spent waiting and moving bytes. */
function arrival(sender, receiver) {
  const blocked = receiver.booked[WAITING] + receiver.booked[TRANSFER];
  return Math.max(sender.start, Math.min(receiver.end, receiver.start + blocked));
}

/** Return the source lines of the steps in view: neighbours with the same line, or too short. */
export function lines(run, from, to, shortest) {
  const found = [];
  for (const { step, start, end } of run.steps) {
    if (end < from || start > to) continue;
    const ops = run.opsOf[step];
    const of = new Set(ops.map((op) => run.names[op][1]));
    const names = new Set(ops.map((op) => run.names[op][0]));
    const last = found[found.length - 1];
    const short = last && last.end - last.start < shortest && end - start < shortest;
    if (last && (short || isSame(last.of, of))) {
      last.end = Math.max(last.end, end);
      of.forEach((line) => last.of.add(line));
      names.forEach((name) => last.names.add(name));
    } else {
      found.push({ start, end, of, names });
    }
  }
  return found;
}

const isSame = (a, b) => a.size === b.size && [...a].every((item) => b.has(item));

// -- Words ---------------------------------------------------------------------------------------

export function duration(ns) {
  const size = Math.abs(ns);
  if (size < 0.5) return "0"; // sums of floats, and no time at all
  const [unit, per] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : ["us", 1e3];
  return `${short(ns / per)} ${unit}`;
}

export function bytesText(count) {
  const size = Math.abs(count);
  if (size < 0.5) return "0 B";
  const [unit, per] =
    size >= 1e9 ? ["GB", 1e9] : size >= 1e6 ? ["MB", 1e6] : size >= 1e3 ? ["kB", 1e3] : ["B", 1];
  return `${short(count / per)} ${unit}`;
}

const short = (x) => (Math.abs(x) >= 100 ? count(x) : String(Number(x.toPrecision(3))));
const count = (x) => Math.round(x).toLocaleString("en-US");
const percent = (x) => `${(100 * x).toFixed(1)} %`;
const points = (x) => `${(100 * x).toFixed(1)} points`;
const two = (x) => x.toFixed(2);

/** Return a difference with its sign, or nothing if it rounds to none. */
export function signed(now, was, words) {
  const text = words(Math.abs(now - was));
  if (text === words(0)) return "±0";
  return (now > was ? "+" : "−") + text;
}

const engine = (rank) => (rank === NOTEBOOK ? "notebook" : `engine ${rank}`);

/** Return which steps a mark is; beyond what can be sent, each is several of those that ran. */
function stepsText(run, { first, last }) {
  const from = first * run.each;
  const to = Math.min((last + 1) * run.each, run.recorded) - 1;
  if (to === from) return `step ${count(from)}`;
  return `steps ${count(from)} to ${count(to)} (${count(to - from + 1)} steps)`;
}

/** Return everything that is known of a mark, in one line. */
export function describe(run, mark) {
  const { start, end, booked } = mark;
  if (mark.rank === NOTEBOOK) {
    const disk = mark.disk ? `, arrays went to disk and came back for ${duration(mark.disk)}` : "";
    const did = mark.computed ? `; it computed for ${duration(mark.computed)}${disk}` : disk;
    const gap = duration(mark.idle);
    return `notebook, ${duration(start)} to ${duration(end)}: no engine had a command for ${gap}${did}.`;
  }
  const ops = opsOf(run, mark);
  const named = [...ops].slice(0, 3).map((op) => run.names[op].join(", "));
  if (ops.size > 3) named.push(`and ${ops.size - 3} more`);
  const classes = CLASSES.slice(0, IDLE).map((name, c) => `${name} ${duration(booked[c])}`);
  const found = [`${engine(mark.rank)}, ${stepsText(run, mark)}: ${named.join("; ")}`];
  found.push(`${duration(start)} to ${duration(end)}: ${classes.join(", ")}${waitText(run, mark)}`);
  if (booked[MESSAGES]) found.push(`Sent ${bytesText(booked[BYTES])} in ${count(booked[MESSAGES])} messages`);
  if (mark.touched && booked[COMPUTE]) {
    found.push(`${bytesText(mark.touched)} of memory, ${two(mark.touched / booked[COMPUTE])} GB/s`);
  }
  if (mark.of) {
    const part = percent(mark.held / mark.of);
    found.push(`Holds ${count(mark.held)} of ${count(mark.of)} elements, ${part}`);
  }
  return found.join(". ") + ".";
}

function opsOf(run, mark) {
  const ops = new Set();
  for (let step = mark.first; step <= mark.last; step++) {
    for (const op of run.opsOf[step]) ops.add(op);
  }
  return ops;
}

function waitText(run, mark) {
  const sums = new Map();
  for (const { step, rank, by, ns } of run.waits) {
    if (rank !== mark.rank || step < mark.first || step > mark.last) continue;
    sums.set(by, (sums.get(by) ?? 0) + ns);
  }
  const [most] = [...sums].sort((a, b) => b[1] - a[1]);
  return most ? ` (waiting mostly for ${engine(most[0])}: ${duration(most[1])})` : "";
}

// -- Drawing -------------------------------------------------------------------------------------

const maker = (space) => (name, attributes = {}, ...children) => {
  const made = document.createElementNS(space, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const svg = maker("http://www.w3.org/2000/svg");
const html = maker("http://www.w3.org/1999/xhtml");

const COLOURS = ["#0072b2", "#d55e00", "#e69f00", "#cc79a7", "none", "#009e73", "#56b4e9"];
const DOTTED = [OVERHEAD, DISK];
/** From the bottom of a row; waiting is next to the free space above. */
const STACKED = [COMPUTE, TRANSFER, OVERHEAD, WAITING];
/** Pixels: names of rows; lines of the code; times; from row to row; above and below a step. */
const LEFT = 72;
const LANE = 24;
const AXIS = 18;
const PITCH = 42;
const FREE = 5;
/** Bars beside the rows, where the view is so wide. */
const BARS = 150;
const WIDE = 640;
let made = 0;

/** Return the hatch of waiting and the dots of overhead: never colour alone. */
function patterns(id) {
  const frame = { width: 5, height: 5, patternUnits: "userSpaceOnUse" };
  const ground = (c) => svg("rect", { width: 5, height: 5, fill: COLOURS[c] });
  const lines = svg("path", { d: "M0 5L5 0", stroke: "#fff", "stroke-width": 1 });
  const dot = () => svg("circle", { cx: 2.5, cy: 2.5, r: 1, fill: "#fff" });
  return svg(
    "defs",
    {},
    svg("pattern", { id: `${id}-${WAITING}`, ...frame }, ground(WAITING), lines),
    ...DOTTED.map((c) => svg("pattern", { id: `${id}-${c}`, ...frame }, ground(c), dot())),
  );
}

const fill = (id, c) => (c === WAITING || DOTTED.includes(c) ? `url(#${id}-${c})` : COLOURS[c]);
const box = (x, y, w, h) => `M${x.toFixed(1)} ${y.toFixed(1)}h${w.toFixed(1)}v${h.toFixed(1)}h${(-w).toFixed(1)}z`;

/** Return round numbers, about `most` of them, in [from, to]. */
export function ticks(from, to, most = 6) {
  const raw = (to - from) / most || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, i) => (first + i) * step);
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/** Return what fills a mark, from below: classes, and how long; idle is what is left of it. */
export function partsOf({ rank, start, end, booked, idle, computed, disk }) {
  if (rank === NOTEBOOK) {
    return [[ITSELF, computed], [DISK, disk], [IDLE, Math.max(0, idle - computed - disk)]];
  }
  const parts = STACKED.map((c) => [c, booked[c]]);
  return [...parts, [null, Math.max(0, end - start - busy(booked))]];
}

class Drawing {
  constructor(model, el) {
    this.model = model;
    this.id = `distnb${++made}-${Math.random().toString(36).slice(2, 8)}`;
    this.root = html("div", { class: "distnb distnb-timeline", "data-lm-suppress-shortcuts": "true" });
    el.append(this.root);
    this.build();
    this.load();
  }

  // What is shown: a part of the window, and within it a selection.

  load() {
    this.run = unpack(this.model.get("data"));
    this.ranks = [NOTEBOOK, ...this.run.engines.keys()];
    this.opIndex = new Map(this.run.names.map((name, i) => [name.join("\n"), i]));
    this.view = { from: 0, to: this.run.wall };
    this.explain();
    this.readSelection();
    this.draw();
  }

  readSelection() {
    const chosen = this.model.get("selection");
    this.selection = chosen?.length === 2 ? { from: chosen[0] * 1e9, to: chosen[1] * 1e9 } : null;
  }

  select(from, to) {
    const ends = [from, to].map((t) => Math.min(Math.max(t, 0), this.run.wall));
    this.selection = ends[1] > ends[0] ? { from: ends[0], to: ends[1] } : null;
    this.update();
  }

  tell() {
    const { selection } = this;
    this.model.set("selection", selection ? [selection.from / 1e9, selection.to / 1e9] : []);
    this.model.save_changes();
  }

  clear() {
    this.selection = null;
    this.tell();
    this.update();
  }

  zoom(from, to) {
    const least = this.run.wall / 1e6;
    this.view = { from: Math.max(0, from), to: Math.min(this.run.wall, to) };
    if (this.view.to - this.view.from < least) this.view.to = this.view.from + least;
    this.draw();
  }

  zoomIn() {
    const { from, to } = this.view;
    const mark = this.hot ?? { start: (from + to) / 2, end: (from + to) / 2 };
    const middle = (mark.start + mark.end) / 2;
    if (this.selection) this.zoom(this.selection.from, this.selection.to);
    else this.zoom(middle - (to - from) / 4, middle + (to - from) / 4);
  }

  zoomOut() {
    const { from, to } = this.view;
    this.zoom(from - (to - from) / 2, to + (to - from) / 2);
  }

  pin() {
    const { waits, ...kept } = this.now;
    this.model.set("pinned", kept);
    this.model.save_changes();
  }

  unpin() {
    this.model.set("pinned", {});
    this.model.save_changes();
  }

  // The parts that stay.

  build() {
    const button = (text, title, act) => {
      const found = html("button", { type: "button", title }, text);
      found.addEventListener("click", act);
      return found;
    };
    this.buttons = {
      in: button("Zoom in", "to the selection, or by half (+)", () => this.zoomIn()),
      out: button("Zoom out", "to twice the time (-)", () => this.zoomOut()),
      all: button("All", "the whole time (0)", () => this.zoom(0, this.run.wall)),
      clear: button("Clear", "the selection (Escape)", () => this.clear()),
      pin: button("Pin", "these numbers, to compare others with them", () => this.pin()),
      unpin: button("Unpin", "compare no longer", () => this.unpin()),
    };
    this.head = html("p", { class: "lead head" });
    this.plot = html("div", { class: "plot" });
    this.where = html("p", { class: "where", "aria-live": "polite" });
    this.detail = html("p", { class: "detail", "aria-live": "polite" });
    this.numbers = html("dl");
    const frame = (name, label) =>
      html("div", { class: `scroll ${name}`, tabindex: 0, role: "group", "aria-label": label });
    this.engineTable = frame("engines", "numbers of the engines");
    this.opTable = frame("ops", "numbers of the operations");
    this.legend = html("span", { class: "legend" });
    const tools = html("div", { class: "tools" }, ...Object.values(this.buttons), this.legend);
    const tables = html("div", { class: "tables" }, this.engineTable, this.opTable);
    this.root.append(this.head, tools, this.plot, this.detail, this.where, this.numbers, tables);
    this.listen();
  }

  /** Say how classes look; of what the notebook does itself, what it did. */
  explain() {
    const did = [sum(this.run.gaps.map((gap) => gap.computed)), sum(this.run.gaps.map((gap) => gap.disk))];
    const items = [...CLASSES, ...OWN].flatMap((name, c) => {
      if (c >= ITSELF && !did[c - ITSELF]) return [];
      const colour = { fill: fill(`${this.id}-legend`, c), stroke: "currentColor" };
      const square = svg("rect", { x: 1, y: 1, width: 10, height: 10, ...colour });
      return [html("span", {}, svg("svg", { "aria-hidden": "true" }, square), ` ${name}`)];
    });
    items[0].firstChild.prepend(patterns(`${this.id}-legend`));
    this.legend.replaceChildren(...items);
  }

  // Events.

  listen() {
    this.plot.addEventListener("pointerdown", (event) => this.press(event));
    this.plot.addEventListener("pointermove", (event) => this.drag(event));
    this.plot.addEventListener("pointerup", (event) => this.release(event));
    this.plot.addEventListener("pointercancel", () => (this.pressed = null));
    this.plot.addEventListener("pointerover", (event) => this.over(event));
    this.plot.addEventListener("pointerleave", () => this.point(null));
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.opTable.addEventListener("pointerover", (event) => {
      const row = event.target.closest("[data-op]");
      if (row) this.pointOp(Number(row.dataset.op));
    });
    this.opTable.addEventListener("pointerleave", () => this.point(null));
  }

  time(event) {
    const { left } = this.plot.getBoundingClientRect();
    const part = (event.clientX - left - LEFT) / this.width;
    return this.view.from + Math.min(1, Math.max(0, part)) * (this.view.to - this.view.from);
  }

  markOf(event) {
    const index = event.target.closest?.("[data-mark]")?.dataset.mark;
    return index === undefined ? null : this.marks[index];
  }

  press(event) {
    const x = event.clientX - this.plot.getBoundingClientRect().left - LEFT;
    if (event.button || x < -4 || x > this.width + 4) return;
    this.pressed = { x: event.clientX, time: this.time(event), mark: this.markOf(event) };
    this.plot.setPointerCapture?.(event.pointerId);
  }

  drag(event) {
    if (!this.pressed || Math.abs(event.clientX - this.pressed.x) < 4) return;
    const time = this.time(event);
    this.pressed.moved = true;
    this.pressed.ends = [Math.min(time, this.pressed.time), Math.max(time, this.pressed.time)];
    this.waiting ??= requestAnimationFrame(() => this.dragged());
  }

  /** Follow the pointer once for each picture that the browser shows. */
  dragged() {
    this.waiting = null;
    if (this.pressed?.ends) this.select(...this.pressed.ends);
  }

  release() {
    const { pressed } = this;
    this.dragged();
    this.pressed = null;
    if (!pressed) return;
    if (!pressed.moved && pressed.mark) this.select(pressed.mark.start, pressed.mark.end);
    if (pressed.moved || pressed.mark) this.tell();
    else if (this.selection) this.clear();
  }

  over(event) {
    const mark = this.markOf(event);
    if (mark && !this.pressed) this.point(mark);
  }

  key(event) {
    const act = {
      ArrowLeft: () => this.walk(-1),
      ArrowRight: () => this.walk(1),
      ArrowUp: () => this.climb(-1),
      ArrowDown: () => this.climb(1),
      Enter: () => this.selectHot(),
      Escape: () => (this.selection ? this.clear() : this.point(null)),
      "+": () => this.zoomIn(),
      "-": () => this.zoomOut(),
      0: () => this.zoom(0, this.run.wall),
    }[event.key];
    const inRow = event.target.closest?.(".row");
    if (!act || (!inRow && !["Escape", "+", "-", "0"].includes(event.key))) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  focused() {
    const row = this.root.ownerDocument.activeElement?.closest?.(".row");
    return row && this.root.contains(row) ? Number(row.dataset.rank) : null;
  }

  walk(by) {
    const rank = this.focused();
    const own = this.marks.filter((mark) => mark.rank === rank);
    const at = own.indexOf(this.hot);
    const next = at < 0 ? (by > 0 ? 0 : own.length - 1) : Math.min(own.length - 1, Math.max(0, at + by));
    if (own.length) this.point(own[next]);
  }

  climb(by) {
    const at = this.ranks.indexOf(this.focused()) + by;
    this.plot.querySelector(`.row[data-rank="${this.ranks[at]}"]`)?.focus();
  }

  selectHot() {
    if (!this.hot) return;
    this.select(this.hot.start, this.hot.end);
    this.tell();
  }

  // What is pointed at.

  point(mark) {
    this.hot = mark;
    const steps = mark && mark.rank !== NOTEBOOK ? mark : { first: 1, last: 0 };
    const meets = (other) => other.first <= steps.last && other.last >= steps.first;
    this.light(mark, mark ? mark.rank : null, meets, mark ? opsOf(this.run, steps) : new Set());
    this.detail.textContent = mark ? describe(this.run, mark) : this.hint();
  }

  pointOp(op) {
    this.light(null, null, (mark) => opsOf(this.run, mark).has(op), new Set([op]));
    this.detail.textContent = this.run.names[op].join(", ");
  }

  light(mark, rank, meets, ops) {
    for (const rect of this.plot.querySelectorAll("[data-mark]")) {
      const other = this.marks[rect.dataset.mark];
      rect.classList.toggle("hot", other === mark);
      rect.classList.toggle("same", other !== mark && other.rank !== NOTEBOOK && meets(other));
    }
    for (const arrow of this.plot.querySelectorAll(".arrows [data-step]")) {
      const step = Number(arrow.dataset.step);
      arrow.classList.toggle("hot", mark !== null && meets({ first: step, last: step }));
    }
    const raised = [...this.plot.querySelectorAll(".arrows .hot")];
    this.plot.querySelector(".arrows").classList.toggle("linked", raised.length > 0);
    this.top.replaceChildren(...raised.map((arrow) => arrow.cloneNode()));
    for (const bar of this.plot.querySelectorAll(".bar")) {
      bar.classList.toggle("hot", Number(bar.dataset.rank) === rank);
    }
    this.plot.querySelector(".bars")?.classList.toggle("linked", rank !== null && rank >= 0);
    for (const row of this.root.querySelectorAll("tr[data-rank], tr[data-op]")) {
      const { rank: own, op } = row.dataset;
      row.classList.toggle("hot", own === undefined ? ops.has(Number(op)) : Number(own) === rank);
    }
  }

  hint() {
    return "Drag to select a part of the time; point at a step to see what it is.";
  }

  // The timeline.

  draw() {
    const focused = this.focused();
    const all = Math.max(280, this.plot.clientWidth || this.root.clientWidth || 900);
    this.all = all;
    this.width = all - LEFT - (all < WIDE ? 8 : BARS + 12);
    const height = this.ranks.length * PITCH + 4;
    const clip = svg("clipPath", { id: `${this.id}-clip` }, svg("rect", { x: LEFT, y: 0, width: this.width, height }));
    this.marksIn();
    this.bars = svg("g", { class: "bars" });
    this.brush = svg("rect", { class: "brush", y: 0, height });
    this.top = svg("g", { class: "top" });
    const title = svg("title", {}, `Timeline of ${this.words()}`);
    const desc = svg("desc", {}, "A row for the notebook and for each engine; the tables below have the numbers.");
    // Messages lie under the steps; those of the step that is pointed at come to the top.
    const clipped = (...parts) => svg("g", { "clip-path": `url(#${this.id}-clip)` }, ...parts);
    const [under, over] = [clipped(this.arrowsIn()), clipped(this.top, this.brush)];
    const box = (height, more) => ({ width: all, height, viewBox: `0 0 ${all} ${height}`, ...more });
    const scale = svg("svg", box(LANE + AXIS, { class: "scale", "aria-hidden": "true" }), this.lane(), ...this.times());
    if (all >= WIDE) scale.append(svg("text", { x: all - BARS, y: LANE + 12 }, "share of the time"));
    const drawn = [title, desc, patterns(this.id), clip, this.grid(height), under, ...this.rows(), over, this.bars];
    this.plot.replaceChildren(scale, svg("svg", box(height, { role: "group" }), ...drawn));
    this.update();
    this.point(null);
    if (focused !== null) this.plot.querySelector(`.row[data-rank="${focused}"]`)?.focus();
  }

  x(time) {
    return LEFT + ((time - this.view.from) / (this.view.to - this.view.from)) * this.width;
  }

  y(rank) {
    return 2 + this.ranks.indexOf(rank) * PITCH;
  }

  marksIn() {
    const { from, to } = this.view;
    const gaps = this.run.gaps.filter((gap) => gap.end >= from && gap.start <= to);
    this.level = marks(this.run, from, to, MARKS - gaps.length);
    this.marks = [...gaps.map((gap) => ({ ...gap, rank: NOTEBOOK })), ...this.level.drawn];
  }

  ticks() {
    return ticks(this.view.from, this.view.to, Math.max(2, Math.min(6, this.width / 90)));
  }

  grid(height) {
    const d = this.ticks().map((time) => `M${this.x(time)} 0V${height}`).join("");
    return svg("path", { class: "axis", d, stroke: "currentColor", opacity: 0.2 });
  }

  times() {
    return this.ticks().map((time) => {
      const x = this.x(time);
      const anchor = x > LEFT + this.width - 20 ? "end" : x < LEFT + 20 ? "start" : "middle";
      return svg("text", { x, y: LANE + AXIS - 5, "text-anchor": anchor }, duration(time));
    });
  }

  rows() {
    const of = new Map(this.ranks.map((rank) => [rank, []]));
    this.marks.forEach((mark, index) => of.get(mark.rank).push({ mark, index }));
    return this.ranks.map((rank) => {
      const place = { x: LEFT, y: this.y(rank) + 1, width: this.width, height: PITCH - 2 };
      const label = { x: LEFT - 6, y: this.y(rank) + PITCH / 2 + 4, "text-anchor": "end" };
      const found = svg(
        "g",
        { class: "row", tabindex: 0, role: "group", "data-rank": rank, "aria-label": `${engine(rank)}: ${of.get(rank).length} marks` },
        svg("rect", { class: "ground", ...place }),
      );
      found.append(svg("text", label, engine(rank)));
      found.append(svg("g", { "clip-path": `url(#${this.id}-clip)` }, ...this.filled(of.get(rank)), ...of.get(rank).map((of) => this.frame(of))));
      return found;
    });
  }

  place({ rank, start, end }) {
    const x = this.x(start);
    return { x, y: this.y(rank) + FREE, width: Math.max(1.5, this.x(end) - x), height: PITCH - 2 * FREE };
  }

  /** Return a path for each class: of a mark's height, the share that was spent in the class. */
  filled(own) {
    const paths = [...CLASSES, ...OWN].map(() => "");
    for (const { mark } of own) {
      const { x, y, width, height } = this.place(mark);
      const parts = partsOf(mark);
      const whole = Math.max(sum(parts.map(([, time]) => time)), 1);
      let bottom = y + height;
      for (const [c, time] of parts.filter(([c]) => c !== null)) {
        const tall = (height * time) / whole;
        bottom -= tall;
        if (tall >= 0.1) paths[c] += box(x, bottom, width, tall);
      }
    }
    const style = (c) => (c === IDLE ? { fill: "currentColor", "fill-opacity": 0.25 } : { fill: fill(this.id, c) });
    return paths.flatMap((d, c) => (d ? [svg("path", { d, ...style(c) })] : []));
  }

  frame({ mark, index }) {
    const { x, y, width, height } = this.place(mark);
    return svg("rect", { class: "mark", "data-mark": index, x, y, width, height });
  }

  lane() {
    const pixel = (this.view.to - this.view.from) / this.width;
    const found = lines(this.run, this.view.from, this.view.to, 60 * pixel);
    const drawn = found.slice(0, 120).map(({ start, end, of, names }) => {
      const [from, to] = [Math.max(LEFT, this.x(start)), Math.min(LEFT + this.width, this.x(end))];
      const heads = [...of].map((line) => line.split(":")[0].replace(/^In ?\[\d+\] /, "")).filter(Boolean);
      const one = `${[...names].slice(0, 3).join(", ")}: ${[...of][0] ?? ""}`;
      const text = of.size > 1 ? heads.join(", ") : one;
      const room = Math.floor((to - from - 4) / 6.6);
      const cut = room < 8 ? "" : `${text.slice(0, room - 1)}…`;
      const label = text.length <= room ? text : cut;
      const bracket = svg("path", { d: `M${from} ${LANE - 2}v-4H${Math.max(to, from + 1)}v4` });
      const title = svg("title", {}, [...of].join("\n"));
      return svg("g", {}, title, bracket, svg("text", { x: from + 2, y: LANE - 10 }, label));
    });
    return svg("g", { class: "lane" }, ...drawn);
  }

  arrowsIn() {
    this.sent = arrows(this.run, this.view.from, this.view.to);
    const most = Math.max(1, ...this.sent.drawn.map((arrow) => arrow.bytes));
    const drawn = this.sent.drawn.map((arrow) => {
      // From one step's edge to the other's
      const [near, far] = arrow.to > arrow.rank ? [PITCH - FREE, FREE] : [FREE, PITCH - FREE];
      const [x, y] = [this.x(arrow.start), this.y(arrow.rank) + near];
      const [u, v] = [this.x(arrow.end), this.y(arrow.to) + far];
      const angle = Math.atan2(v - y, u - x);
      const wing = (turn) => `${u - 6 * Math.cos(angle + turn)} ${v - 6 * Math.sin(angle + turn)}`;
      const d = `M${x} ${y}L${u} ${v}M${wing(0.45)}L${u} ${v}L${wing(-0.45)}`;
      const width = 0.8 + 1.2 * (arrow.bytes / most);
      return svg("path", { class: `arrow${arrow.late ? " late" : ""}`, d, "stroke-width": width, "data-step": arrow.step });
    });
    return svg("g", { class: "arrows" }, ...drawn);
  }

  // The numbers of what is selected.

  update() {
    const { from, to } = this.selection ?? this.view;
    this.now = metrics(this.run, from, to);
    const whole = from <= this.view.from && to >= this.view.to; // then shading it says nothing
    const drawn = this.selection && !whole;
    this.brush.setAttribute("x", this.x(from));
    this.brush.setAttribute("width", drawn ? Math.max(1, this.x(to) - this.x(from)) : 0);
    this.buttons.clear.disabled = !this.selection;
    const all = this.view.from <= 0 && this.view.to >= this.run.wall;
    this.buttons.out.disabled = this.buttons.all.disabled = all;
    this.compared();
    this.head.textContent = this.words();
    this.where.textContent = this.whereText();
    this.drawBars();
  }

  /** Show the numbers, and how they differ from what is pinned. */
  compared() {
    const pinned = this.model.get("pinned");
    this.was = pinned && pinned.engines ? pinned : null;
    this.buttons.unpin.hidden = !this.was;
    this.numbers.replaceChildren(...this.headline());
    this.engineTable.replaceChildren(this.tableOfEngines());
    this.opTable.replaceChildren(this.tableOfOps());
  }

  words() {
    const { run } = this;
    const many = (n, one, more) => `${count(n)} ${n === 1 ? one : more}`;
    const what = `${many(run.commands, "command", "commands")} in ${many(run.batches, "batch", "batches")}`;
    return `${duration(run.wall)} on ${many(run.engines.length, "engine", "engines")}: ${what}`;
  }

  whereText() {
    const { from, to } = this.selection ?? this.view;
    const whole = to - from >= this.run.wall;
    const kind = this.selection ? "Selected" : "Shown";
    const found = [whole ? `Numbers of all ${duration(to)}` : `${kind}: ${duration(from)} to ${duration(to)}, ${duration(to - from)} of ${duration(this.run.wall)}`];
    if (this.run.each > 1) found.push(`${count(this.run.recorded)} steps in groups of ${this.run.each}`);
    if (this.run.dropped) found.push(`${count(this.run.dropped)} later steps are only in the times of the engines`);
    if (this.level.each > 1) found.push(`${count(this.level.count)} marks drawn as ${count(this.level.drawn.length)}`);
    if (this.sent.count > this.sent.drawn.length) {
      found.push(`arrows for the ${this.sent.drawn.length} heaviest of ${count(this.sent.count)} messages`);
    }
    return `${found.join("; ")}.`;
  }

  headline() {
    const { now, was } = this;
    const mean = (of, c) => of.engines.reduce((sum, row) => sum + row[c], 0) / (of.engines.length * (of.to - of.from) || 1);
    const total = (of, name) => of[name].reduce((a, b) => a + b, 0);
    const items = [
      ["time", "time", (of) => of.to - of.from, duration],
      ["balance", "load balance", (of) => of.balance, two],
      ...CLASSES.map((name, c) => [name, name, (of) => mean(of, c), percent]),
      ["dispatch", "engines had commands", (of) => of.dispatch, percent],
      ["sent", "sent", (of) => total(of, "bytes"), bytesText],
      ["messages", "messages", (of) => total(of, "messages"), count],
    ];
    return items.map(([name, label, read, words]) => {
      const change = delta(read(now), was && read(was), words === percent ? points : words);
      const found = html("dd", { "data-number": name }, words(read(now)), ...change);
      return html("div", {}, html("dt", {}, label), found);
    });
  }

  tableOfEngines() {
    const { now, was } = this;
    const head = ["engine", ...CLASSES, "sent", "messages", "waiting mostly for"];
    const body = now.engines.map((row, rank) => {
      const before = was?.engines[rank];
      const cells = row.map((ns, c) => [`${duration(ns)}  ${percent(ns / (now.to - now.from || 1))}`, ...delta(ns, before?.[c], duration)]);
      const most = now.waits[rank];
      const by = most ? `${engine(most[0])}: ${duration(most[1])}` : "";
      const sent = [bytesText(now.bytes[rank]), ...delta(now.bytes[rank], before && was.bytes[rank], bytesText)];
      return line({ "data-rank": rank }, [[String(rank)], ...cells, sent, [count(now.messages[rank])], [by]]);
    });
    return table("Engines", head, body);
  }

  tableOfOps() {
    const { now, was } = this;
    const mean = (of, row) => (row ? row.slice(3, 7).reduce((a, b) => a + b, 0) / of.engines.length : undefined);
    const before = new Map((was?.ops ?? []).map((row) => [`${row[0]}\n${row[1]}`, row]));
    const all = now.ops.reduce((sum, row) => sum + mean(now, row), 0) || 1;
    const sorted = [...now.ops].sort((a, b) => mean(now, b) - mean(now, a));
    const body = sorted.slice(0, 100).map((row) => {
      const [op, of, calls] = row;
      const [time, old] = [mean(now, row), mean(was, before.get(`${op}\n${of}`))];
      const cells = [[duration(time), ...delta(time, old, duration)], [percent(time / all)], [duration(row[3 + WAITING] / now.engines.length)], [bytesText(row[8])]];
      return line({ "data-op": this.opIndex.get(`${op}\n${of}`) }, [[op], [of], [count(calls)], ...cells], 2);
    });
    const rest = sorted.length > 100 ? [line({}, [[`and ${count(sorted.length - 100)} more`]])] : [];
    return table("Operations (means over the engines)", ["operation", "line", "calls", "time", "share", "waiting", "sent"], [...body, ...rest], 2);
  }

  drawBars() {
    if (this.all < WIDE) return; // the table has them
    const left = this.all - BARS;
    const parts = this.now.engines.map((row, rank) => {
      const whole = row.reduce((a, b) => a + b, 0) || 1;
      const [y, height] = [this.y(rank) + FREE, PITCH - 2 * FREE];
      let x = left;
      const paths = row.map((ns, c) => {
        const width = ((BARS - 6) * ns) / whole;
        x += width;
        return svg("path", { d: box(x - width, y, width, height), fill: fill(this.id, c) });
      });
      const label = svg("title", {}, `${engine(rank)}: ${row.map((ns, c) => `${CLASSES[c]} ${percent(ns / whole)}`).join(", ")}`);
      const found = svg("g", { class: "bar", "data-rank": rank }, label, ...paths);
      const text = `${Math.round((100 * row[COMPUTE]) / whole)} %`;
      if (row[COMPUTE] / whole > 0.25) found.append(svg("text", { class: "inside", x: left + 4, y: y + height / 2 + 4 }, text));
      return found;
    });
    this.bars.replaceChildren(...parts);
  }
}

function delta(now, was, words) {
  return was === null || was === undefined ? [] : [html("span", { class: "delta" }, signed(now, was, words))];
}

function line(attributes, cells, texts = 1) {
  const made = cells.map((cell, i) => {
    const found = html(i ? "td" : "th", i < texts ? { class: "text", title: cell[0] } : {}, ...cell);
    if (!i) found.setAttribute("scope", "row");
    return found;
  });
  return html("tr", attributes, ...made);
}

function table(caption, head, body, texts = 1) {
  const top = head.map((text, i) => html("th", { scope: "col", class: i < texts ? "text" : "" }, text));
  return html("table", {}, html("caption", {}, caption), html("thead", {}, html("tr", {}, ...top)), html("tbody", {}, ...body));
}

function render({ model, el }) {
  const drawing = new Drawing(model, el);
  const on = {
    "change:data": () => drawing.load(),
    "change:pinned": () => drawing.compared(),
    "change:selection": () => {
      drawing.readSelection();
      drawing.update();
    },
  };
  for (const [event, act] of Object.entries(on)) model.on(event, act);
  const resized = new ResizeObserver(() => {
    if (Math.abs(drawing.plot.clientWidth - drawing.all) > 2) drawing.draw();
  });
  resized.observe(drawing.plot);
  return () => {
    resized.disconnect();
    for (const [event, act] of Object.entries(on)) model.off(event, act);
  };
}

export default { render };
