// One row's section: all that is known of it; its data is unpacked and drawn when the section is first opened.

/** Flat lists of numbers, `width` each, whose number `at` counts on from the one before. */
function records(numbers, width, at, make) {
  const out = [];
  let time = 0;
  for (let i = 0; i < numbers.length; i += width) {
    time += numbers[i + at];
    out.push(make(numbers.slice(i, i + width), time, i / width));
  }
  return out;
}

/** Parts of the path in one lane that follow each other without a break, as one. */
function stretches(path, laneOf) {
  const out = [];
  for (const [device, , start, end] of path) {
    const lane = laneOf.get(device);
    const last = out[out.length - 1];
    if (lane === undefined) continue;
    if (last && last.lane === lane && last.end === start) last.end = end;
    else out.push({ lane, start, end });
  }
  return out;
}

/** What report::to_json(CellData) says, with its lists as objects. */
function expand(cell) {
  const kinds = cell.kinds.map((kind) => kind.replace(/[^a-z]/g, '_'));  // names of classes
  const span = ([kind, stage, micro, , takes, bytes = 0], start) =>
    ({ kind: kinds[kind], stage, micro, start, end: start + takes, peer: -1, bytes });
  const laneOf = new Map();
  cell.lanes.forEach((lane, l) => {
    lane.compute = records(lane.compute, 5, 3, span);
    lane.communication = records(lane.communication, 6, 3, (numbers, start, i) => ({ ...span(numbers, start), peer: lane.peers[i] }));
    lane.memory = records(lane.memory, 3, 0, ([, activations, buffers], time) => ({ time, moving: activations + buffers }));
    lane.devices.forEach((device) => laneOf.set(device, l));
  });
  cell.stretches = stretches(cell.path, laneOf);
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
  constructor({ study, columns }, row) {
    this.row = row;
    const known = columns.filter((column) => row[column.name] !== null && row[column.name] !== undefined);
    const values = html('dl', { class: 'values' }, ...known.map((column) =>
      html('div', {}, html('dt', { title: column.meaning }, column.title), html('dd', {}, shown(column, row[column.name])))));
    this.details = html('details', { id: `cell-${row.index}` }, html('summary', {}, html('h3', {}, study.heading(row))), values,
      ...(row.note ? [html('p', { class: 'note' }, row.note)] : []));
    this.details.addEventListener('toggle', () => { if (this.details.open) this.open(); });
  }

  /** Reads the data, once. */
  async read() {
    this.reading ??= unpack(`data-${this.row.index}`).then((data) => { if (data) this.cell = expand(data); });
    await this.reading;
  }

  async open() {
    this.details.open = true;
    await this.read();
    this.draw();
  }

  /** Does nothing before the data is read, and without any. */
  draw() {
    if (!this.cell || this.timeline) return;
    this.timeline = new Timeline(this.cell);
    this.graph = html('div', {});
    this.details.append(this.graph, stageTable(this.cell), this.timeline.element, waterfall(this.cell), criticalPath(this.cell), deviceShares(this.cell));
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
