// The stages of a plan: boxes as wide as the stage computes in an iteration, a row for each set of devices.

const kNames = 104;

/** Compute time of each stage in an iteration, ps: of its busiest device. */
function stageTimes(cell) {
  const times = cell.stages.map(() => 0);
  for (const lane of cell.lanes) {
    const own = cell.stages.map(() => 0);
    for (const span of lane.compute) own[span.stage] += span.end - span.start;
    own.forEach((time, s) => { times[s] = Math.max(times[s], time / cell.mini_batches); });
  }
  return times;
}

/** Each stage as early as its inputs and its row allow, as if an iteration were one task; its level counts the stages before it. */
function placeStages(cell) {
  const times = stageTimes(cell);
  const rows = new Map();
  const free = [];
  const places = [];
  cell.stages.forEach((stage, s) => {
    const devices = ranges(stage.devices);
    if (!rows.has(devices)) rows.set(devices, rows.size);
    const row = rows.get(devices);
    const before = cell.edges.filter(([, to]) => to === s).map(([from]) => places[from]);
    if (free[row]) before.push(free[row]);
    const start = Math.max(0, ...before.map((place) => place.end));
    const level = Math.max(0, ...before.map((place) => place.level + 1));
    free[row] = { stage, row, level, start, end: start + times[s], time: times[s] };
    places.push(free[row]);
  });
  return { places, rows: [...rows.keys()] };
}

function stageBox(place, s, x, pitch) {
  const { stage } = place;
  const y = place.row * pitch + 4;
  const left = x(place.start, place);
  const width = Math.max(x(place.end, place) - left, 2);
  const extras = [...stage.divided.map(([, n, groups]) => `${groups} of ${n}`), stage.expert_parallel > 1 ? `expert-parallel ${stage.expert_parallel}` : '',
    stage.zero ? `ZeRO ${stage.zero}` : '', stage.recompute ? `recomputes: ${stage.recompute}` : ''].filter(Boolean);
  const about = [`stage ${s} on devices ${ranges(stage.devices)}`, `computes ${inTime(place.time)} per iteration`,
    `${stage.operators.length} operators`, `micro-batch ${stage.micro_batch}`, ...extras].join(', ');
  const text = [`${s} · ${inTime(place.time)}`, String(s), ''].find((t) => 6.6 * t.length + 2 < width) || '';
  return svg('g', {}, svg('title', {}, about), svg('rect', { class: 'stage', x: left, y, width, height: 22, rx: 3 }),
    label(left + width / 2, y + 15, 'middle', text));
}

function edgeLine([from, to, bytes], places, x, pitch, most) {
  const [a, b] = [places[from], places[to]];
  const [x1, y1, x2, y2] = [x(a.end, a), a.row * pitch + 15, x(b.start, b), b.row * pitch + 15];
  const bend = Math.max(10, (x2 - x1) / 2);
  return svg('path', { class: 'edge', 'stroke-width': 1 + 3 * (bytes / most),
    d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` },
  svg('title', {}, `stage ${from} to ${to}: ${inBytes(bytes)} per sample`));
}

function stageGraph(cell, width) {
  const { places, rows } = placeStages(cell);
  const pitch = rows.length > 12 ? 26 : 32;
  const whole = Math.max(...places.map((place) => place.end), 1);
  const levels = Math.max(...places.map((place) => place.level));
  const plot = width - kNames - 4;
  const gap = levels ? Math.min(36, 0.3 * plot / levels) : 0;
  const x = (time, { level }) => kNames + level * gap + (plot - levels * gap) * (time / whole);
  const most = Math.max(...cell.edges.map(([, , bytes]) => bytes), 1);
  const names = rows.map((devices, row) => label(0, row * pitch + 19, 'quiet',
    `${/[-,]/.test(devices) ? 'devices' : 'device'} ${devices.length > 9 ? `${devices.slice(0, 8)}…` : devices}`));
  const drawing = svg('svg', { class: 'drawing', viewBox: `0 0 ${width} ${rows.length * pitch + 4}`, role: 'img',
    'aria-label': `${places.length} stages on ${rows.length} sets of devices` },
  ...names, ...cell.edges.map((edge) => edgeLine(edge, places, x, pitch, most)), ...places.map((place, s) => stageBox(place, s, x, pitch)));
  return html('div', {}, html('h4', {}, 'Stages'),
    html('p', { class: 'quiet' }, 'A box is a stage with its number, on the row of its devices, as wide as it computes in an iteration; it stands to the right of what it waits for. Lines are what stages send, thicker for more bytes per sample.'),
    drawing);
}
