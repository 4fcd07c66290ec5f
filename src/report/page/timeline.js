// What every device did when: computations with their micro-batches, communication, memory, the critical path.
// Devices that do alike share a lane. Drawn anew for the stretch of time in view; spans too thin to see are passed over.

const kLane = { left: 112, right: 8, top: 22, compute: 20, communication: 7, memory: 22, gap: 9 };
const kMostLanes = 48;  // more are drawn when asked for
const kLaneHeight = kLane.compute + kLane.communication + kLane.memory + 2;

class Timeline {
  constructor(cell) {
    this.cell = cell;
    this.from = 0;
    this.to = cell.length;
    this.showPath = true;
    this.width = 1000;
    this.lanes = cell.lanes.slice(0, kMostLanes);
    this.most = Math.max(...cell.lanes.map((lane) => lane.peak), 1) * 1.08;
    this.drawing = svg('svg', { class: 'drawing timeline', tabindex: 0, role: 'application',
      'aria-label': 'timeline; plus and minus zoom, arrow keys move, 0 shows everything' });
    this.telling = html('p', { class: 'telling quiet', 'aria-live': 'polite' },
      'Point at a box for its times. Ctrl + wheel zooms and dragging moves, as do the keys + − ← → and 0.');
    this.element = html('div', {}, html('h4', {}, cell.mini_batches > 1 ? `Timeline of ${cell.mini_batches} mini-batches` : 'Timeline'), this.toolbar(), this.meaning(), this.telling, this.drawing, ...this.rest());
    this.listen();
  }

  toolbar() {
    const button = (text, title, action) => {
      const out = html('button', { type: 'button', title, 'aria-label': title }, text);
      out.addEventListener('click', action);
      return out;
    };
    const path = html('input', { type: 'checkbox', checked: '' });
    path.addEventListener('change', () => { this.showPath = path.checked; this.draw(); });
    return html('div', { class: 'toolbar' },
      button('+', 'zoom in', () => this.zoom(0.5)), button('−', 'zoom out', () => this.zoom(2)),
      button('◀', 'earlier', () => this.move(-0.25)), button('▶', 'later', () => this.move(0.25)),
      button('all', 'the whole timeline', () => this.show(0, this.cell.length)),
      html('label', {}, path, ' critical path'));
  }

  /** The lanes that are not drawn at first. */
  rest() {
    const all = this.cell.lanes.length;
    if (all <= kMostLanes) return [];
    const button = html('button', { type: 'button' }, `Draw all ${all} lanes, not the first ${kMostLanes}`);
    button.addEventListener('click', () => { this.lanes = this.cell.lanes; button.remove(); this.draw(); });
    return [button];
  }

  meaning() {
    const words = { forward: 'forward', backward: 'backward', input_gradient: 'input gradient', weight_gradient: 'weight gradient',
      recompute: 'recomputation', step: 'optimizer step', transfer: 'sending', all_reduce: 'all-reduce' };
    const styles = { weight_gradient: 'weight_gradient+hatch', recompute: 'recompute+hatch', all_reduce: 'all_reduce+hatch' };
    const spans = this.cell.lanes.flatMap((lane) => [lane.compute, lane.communication]).flat();
    const seen = new Set(spans.map((span) => span.kind));
    const kinds = Object.keys(words).filter((kind) => seen.has(kind));
    const limits = this.cell.lanes.some((lane) => this.nearCapacity(lane)) ? [['capacity', 'device memory']] : [];
    return legend([...kinds.map((kind) => [styles[kind] || kind, words[kind]]), ['fixed', 'memory: weights, optimizer, workspace'],
      ['held', 'memory: activations, buffers'], ...limits, ['path', 'critical path'],
      ['path between', 'the same between devices']]);
  }

  listen() {
    this.drawing.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 40 * event.deltaY : event.deltaY;
      this.zoom(1.0015 ** pixels, this.timeAt(event));
    }, { passive: false });
    this.drawing.addEventListener('keydown', (event) => {
      const actions = { '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2),
        '0': () => this.show(0, this.cell.length), 'ArrowLeft': () => this.move(-0.25), 'ArrowRight': () => this.move(0.25) };
      if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      actions[event.key]();
    });
    this.drawing.addEventListener('pointerdown', (event) => { this.grip = { x: event.clientX, from: this.from }; });
    addEventListener('pointerup', () => { this.grip = null; });
    this.drawing.addEventListener('pointermove', (event) => this.point(event));
  }

  fit(width) {
    this.width = width;
    this.draw();
  }

  /** From one time to another, at least a millionth of the whole. */
  show(from, to) {
    const span = Math.min(Math.max(to - from, this.cell.length * 1e-6), this.cell.length);
    this.from = Math.min(Math.max(from, 0), this.cell.length - span);
    this.to = this.from + span;
    this.draw();
  }
  zoom(factor, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  move(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }

  plot() { return this.width - kLane.left - kLane.right; }
  x(time) { return kLane.left + this.plot() * ((time - this.from) / (this.to - this.from)); }
  y(lane) { return kLane.top + lane * (kLaneHeight + kLane.gap); }
  timeAt(event) {
    const box = this.drawing.getBoundingClientRect();
    const x = (event.clientX - box.left) * (this.width / box.width);
    return this.from + (this.to - this.from) * ((x - kLane.left) / this.plot());
  }

  point(event) {
    if (this.grip) {
      const box = this.drawing.getBoundingClientRect();
      const by = (event.clientX - this.grip.x) / (box.width * this.plot() / this.width) * (this.to - this.from);
      this.show(this.grip.from - by, this.grip.from - by + this.to - this.from);
      return;
    }
    const box = this.drawing.getBoundingClientRect();
    const y = (event.clientY - box.top) * (this.width / box.width) - kLane.top;
    const lane = Math.floor(y / (kLaneHeight + kLane.gap));
    if (this.lanes[lane]) this.tell(this.lanes[lane], this.timeAt(event), y - lane * (kLaneHeight + kLane.gap));
  }

  /** Says what a lane's devices do at that time: what the pointer is on, by its height in the lane. */
  tell(lane, time, height) {
    const spans = height < kLane.compute ? lane.compute : lane.communication;
    const span = height > kLane.compute + kLane.communication ? null : spans.find((s) => s.start <= time && time < s.end);
    this.telling.textContent = `${namesOf(lane.devices)}, ${inTime(Math.max(time, 0))}: ${span ? spanInWords(span) : memoryInWords(lane, time)}`;
  }

  draw() {
    const { lanes } = this;
    const height = this.y(lanes.length);
    this.drawing.setAttribute('viewBox', `0 0 ${this.width} ${height}`);
    const clip = `clip-${Timeline.drawn += 1}`;
    const plot = svg('g', { 'clip-path': `url(#${clip})` }, ...lanes.flatMap((lane, l) => this.lane(lane, this.y(l))));
    if (this.showPath) plot.append(...this.path());
    this.drawing.replaceChildren(
      svg('clipPath', { id: clip }, svg('rect', { x: kLane.left, width: this.plot(), height })),
      ...this.axis(height), ...lanes.flatMap((lane, l) => this.name(lane, this.y(l))), plot);
  }

  axis(height) {
    const step = niceStep(this.to - this.from, Math.max(this.plot() / 90, 2));
    const out = [];
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step)
      out.push(svg('path', { class: 'grid', d: `M${this.x(t)} 16V${height}` }),
        label(this.x(t), 12, `quiet ${this.x(t) > this.width - 40 ? 'end' : 'middle'}`, inUnits(t, [this.unit()])));
    return out;
  }
  unit() {
    return [[1e12, 's'], [1e9, 'ms'], [1e6, 'µs'], [1e3, 'ns']].find(([size]) => this.cell.length >= 2 * size) || [1, 'ps'];
  }

  name({ devices, peak, capacity }, y) {
    const all = ranges(devices);
    const words = devices.length === 1 ? `device ${all}` : `devices ${all.length > 9 ? `${all.slice(0, 8)}…` : all}`;
    return [svg('text', { x: 0, y: y + 12 }, svg('title', {}, namesOf(devices)), words),
      ...(devices.length > 1 ? [label(0, y + 25, '', `${devices.length} alike`)] : []),
      label(0, y + 38, 'quiet', `peak ${inBytes(peak)}`),
      ...(capacity ? [label(0, y + 51, 'quiet', `of ${inBytes(capacity)}`)] : [])];
  }

  lane(lane, y) {
    const below = y + kLane.compute;
    return [svg('rect', { class: 'idle', x: kLane.left, y, width: this.plot(), height: kLane.compute }),
      ...this.boxes(lane.compute, y, kLane.compute), ...this.boxes(lane.communication, below + 1, kLane.communication - 1),
      ...this.numbers(lane.compute, y + 14), ...this.memory(lane, below + kLane.communication + kLane.memory + 2)];
  }

  /** One path per kind; spans that end on the pixel where the last one did are passed over. */
  boxes(spans, y, height) {
    const shapes = {};
    const reached = {};
    for (const span of spans) {
      if (span.end <= this.from || span.start >= this.to) continue;
      const [a, b] = [Math.max(this.x(span.start), kLane.left), Math.min(this.x(span.end), this.width - kLane.right)];
      if (b - (reached[span.kind] || 0) < 0.5) continue;
      reached[span.kind] = b;
      const inner = Math.max(b - a - (b - a > 4 ? 0.6 : 0), 0.5);
      shapes[span.kind] = `${shapes[span.kind] || ''}M${a.toFixed(1)} ${y}h${inner.toFixed(1)}v${height}h${(-inner).toFixed(1)}z`;
    }
    return Object.entries(shapes).flatMap(([kind, d]) => [svg('path', { class: kind, d }),
      ...(['weight_gradient', 'recompute', 'all_reduce'].includes(kind) ? [svg('path', { class: 'hatch', d })] : [])]);
  }

  numbers(spans, y) {
    const out = [];
    for (const span of spans) {
      if (span.end <= this.from || span.start >= this.to || span.micro < 0) continue;
      const [a, b] = [Math.max(this.x(span.start), kLane.left), Math.min(this.x(span.end), this.width - kLane.right)];
      const text = String(span.micro);
      if (b - a > 6.5 * text.length + 2) out.push(label(((a + b) / 2).toFixed(1), y, `inside ${span.kind}`, text));
    }
    return out;
  }

  /** Fixed memory as a band, what comes and goes on top of it, its highest level in each pixel. */
  memory(lane, bottom) {
    const height = (bytes) => kLane.memory * (bytes / this.most);
    const end = this.width - kLane.right;
    const band = (bytes, style) => svg('rect', { class: style, x: kLane.left, y: bottom - height(bytes), width: this.plot(), height: height(bytes) });
    let d = `M${kLane.left} ${bottom}`;
    for (const [x, bytes] of this.levels(lane)) d += `H${x.toFixed(1)}V${(bottom - height(bytes)).toFixed(1)}`;
    const out = [svg('path', { class: 'held', d: `${d}H${end}V${bottom}Z` }), band(lane.fixed, 'fixed')];
    if (this.nearCapacity(lane))
      out.push(svg('path', { class: 'capacity', d: `M${kLane.left} ${bottom - height(lane.capacity)}H${end}` }));
    return out;
  }
  /** Whether the line of the device's capacity is within the picture. */
  nearCapacity(lane) { return lane.capacity > 0 && lane.capacity <= this.most; }
  levels(lane) {
    const out = [];
    for (const point of lane.memory) {
      if (point.time >= this.to) break;
      const x = Math.max(this.x(point.time), kLane.left);
      const bytes = lane.fixed + point.moving;
      const last = out[out.length - 1];
      if (last && x === kLane.left) last[1] = bytes;
      else if (last && x - last[0] < 0.5) last[1] = Math.max(last[1], bytes);
      else out.push([x, bytes]);
    }
    return out;
  }

  /** A frame around each stretch in one lane, dashed lines from stretch to stretch. */
  path() {
    let [frames, lines] = ['', ''];
    const seen = this.cell.stretches.filter(({ lane, start, end }) => lane < this.lanes.length && end >= this.from && start <= this.to);
    seen.forEach(({ lane, start, end }, i) => {
      const [a, b, y] = [this.x(start), this.x(end), this.y(lane)];
      frames += `M${a.toFixed(1)} ${y}H${b.toFixed(1)}V${y + kLane.compute}H${a.toFixed(1)}Z`;
      const next = seen[i + 1];
      if (next) lines += `M${b.toFixed(1)} ${y + kLane.compute / 2}L${this.x(next.start).toFixed(1)} ${this.y(next.lane) + kLane.compute / 2}`;
    });
    return [svg('path', { class: 'path between', d: lines }), svg('path', { class: 'path', d: frames })];
  }
}
Timeline.drawn = 0;

function spanInWords(span) {
  const what = span.kind.replaceAll('_', ' ');
  const whom = span.micro < 0 ? `of stage ${span.stage}` : `of micro-batch ${span.micro}, stage ${span.stage}`;
  const bytes = span.bytes ? `, ${inBytes(span.bytes)}` : '';
  const peer = span.peer >= 0 ? ` to device ${span.peer}` : '';
  return `${what} ${whom}${peer}${bytes}, from ${inTime(span.start)}, takes ${inTime(span.end - span.start)}`;
}
function memoryInWords(lane, time) {
  const last = lane.memory.filter((point) => point.time <= time).pop();
  return `holds ${inBytes(lane.fixed + (last ? last.moving : 0))}`;
}
