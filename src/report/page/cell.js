// One plan's section: its data is unpacked and drawn when the section is first opened.

/** Undoes report::packed(). */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

/** Flat lists of numbers, `width` each, whose number `at` counts on from the one before. */
function records(numbers, width, at, make) {
  const out = [];
  let time = 0;
  for (let i = 0; i < numbers.length; i += width) {
    time += numbers[i + at];
    out.push(make(numbers.slice(i, i + width), time));
  }
  return out;
}

/** Parts of the path on one device that follow each other without a break, as one. */
function stretches(path) {
  const out = [];
  for (const [device, , start, end] of path) {
    const last = out[out.length - 1];
    if (device < 0) continue;
    if (last && last.device === device && last.end === start) last.end = end;
    else out.push({ device, start, end });
  }
  return out;
}

/** What report::to_json(CellData) says, with its lists as objects. */
function expand(cell) {
  const kinds = cell.kinds.map((kind) => kind.replace(/[^a-z]/g, '_'));  // names of classes
  const span = ([kind, stage, micro, , takes, peer = -1, bytes = 0], start) =>
    ({ kind: kinds[kind], stage, micro, start, end: start + takes, peer, bytes });
  for (const device of cell.devices) {
    device.compute = records(device.compute, 5, 3, span);
    device.communication = records(device.communication, 7, 3, span);
    device.memory = records(device.memory, 3, 0, ([, activations, buffers], time) => ({ time, moving: activations + buffers }));
  }
  cell.stretches = stretches(cell.path);
  return cell;
}

function criticalPath(cell) {
  const kinds = new Map();
  for (const [, kind, start, end] of cell.path) kinds.set(kind, (kinds.get(kind) || 0) + end - start);
  const whole = [...kinds.values()].reduce((sum, time) => sum + time, 0) || 1;
  const words = [...kinds].sort((a, b) => b[1] - a[1]).map(([kind, time]) => `${kind} ${percent(time / whole)}`);
  return html('div', {}, html('h4', {}, 'Critical path'),
    html('p', { class: 'quiet' }, `The chain of work that sets the iteration's length: ${words.join(', ')}. "Without it" is the iteration simulated anew with that resource infinitely fast.`),
    tableOf([['Resource', (s) => s.name], ['Time', (s) => inTime(s.time), true], ['Share', (s) => percent(s.share), true],
      ['Iteration without it', (s) => (s.without === null ? '' : inTime(s.without)), true]], cell.shares.slice(0, 10)));
}

class Section {
  constructor(details) {
    this.details = details;
    this.data = details.querySelector('script');
    details.addEventListener('toggle', () => { if (details.open) this.open(); });
  }

  /** Reads the data, once. */
  async read() {
    if (this.data && !this.cell) this.cell = expand(await unpack(this.data.textContent));
  }

  async open() {
    this.details.open = true;
    await this.read();
    this.draw();
  }

  /** Does nothing before the data is read. */
  draw() {
    if (!this.cell || this.timeline) return;
    this.timeline = new Timeline(this.cell);
    this.graph = html('div', {});
    this.details.append(this.graph, this.timeline.element, criticalPath(this.cell), deviceShares(this.cell));
    this.fit();
    new ResizeObserver(() => this.fit()).observe(this.details);
  }

  /** Takes the width there is, which a change of height leaves alone; the width of paper is reached by scaling. */
  fit() {
    const width = this.graph.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    this.graph.replaceChildren(stageGraph(this.cell, width));
    this.timeline.fit(width);
  }
}
