// What the page knows: rows by columns, and how each kind of value reads.

/** Undoes report::packed() of the script element of that name; null where there is none. */
async function unpack(id) {
  const element = document.getElementById(id);
  if (!element) return null;
  const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

const kKinds = {
  text: (x) => x,
  count: (x) => x.toLocaleString('en', { maximumFractionDigits: 3 }),
  rate: (x) => (Math.abs(x) >= 10 ? x.toFixed(1) : x.toPrecision(3)),
  times: (x) => `${x.toFixed(2)}x`,
  ratio: (x) => String(Number(x.toPrecision(4))),
  time: (x) => (x === 0 ? '0 s' : inUnits(1e12 * x, kTimes, false)),
  bytes: (x) => inUnits(x, kBytes, false),
  share: percent,
  signed: (x) => `${x > 0 ? '+' : ''}${percent(x)}`,
};
function shown(column, value) {
  return value === null || value === undefined ? '-' : kKinds[column.kind](value);
}
/** The same beside a line of a chart. */
function tick(column, value) {
  const short = { rate: (x) => x.toLocaleString('en'), time: (x) => inTime(1e12 * x), bytes: inBytes };
  return typeof value === 'number' && short[column.kind] ? short[column.kind](value) : shown(column, value);
}
function isNumber(column) {
  return column.kind !== 'text';
}

/** "optimizer=adam network=fifo" by key. */
function axesOf(setting) {
  return Object.fromEntries((setting || '').split(' ').filter(Boolean).map((word) => {
    const at = word.indexOf('=');
    return [word.slice(0, at), word.slice(at + 1)];
  }));
}

/** Columns in the order they are shown in; rows as objects by column's name, `index` their place in the folder's own table. */
function readTable({ study, by_throughput: byThroughput, columns, values, notes }) {
  const rows = values[0].map((_, index) => ({ index, note: notes[index] || '' }));
  columns.forEach(({ name }, c) => values[c].forEach((value, r) => { rows[r][name] = value; }));
  return { study: kStudies[study], byThroughput, columns: [...columns].sort((a, b) => a.place - b.place), rows };
}

/** What differs between the two kinds of results: whom the rows compare, on what, and which charts say how well. */
const kStudies = {
  plans: {
    series: 'planner', fields: ['model', 'cluster', 'devices', 'mini_batch'], over: ['devices', 'mini_batch'],
    group: (row) => `${row.model} on ${row.cluster}`,
    heading: (row) => [row.model, `${row.devices} device${row.devices === 1 ? '' : 's'} of ${row.cluster}`, `mini-batch ${row.mini_batch}`, row.setting, row.planner].filter(Boolean).join(' · '),
    charts: [
      { title: 'Throughput', y: 'samples_per_s', zero: true, best: Math.max, unit: 'samples/s' },
      { title: 'Memory against time', x: 'iteration_s', y: 'peak_memory_bytes', front: true },
      { title: 'Search time', y: 'search_s', log: true },
    ],
  },
  schedules: {
    series: 'schedule', fields: ['pipeline', 'ranks', 'micro_batches'], over: ['micro_batches', 'ranks'],
    group: (row) => row.pipeline,
    heading: (row) => `${row.pipeline} · ${row.ranks} ranks · ${row.micro_batches} micro-batches · ${row.schedule}`,
    charts: [
      { title: 'Bubble', y: 'bubble', zero: true, best: Math.min },
      { title: 'Activations against time', x: 'makespan_s', y: 'peak_live', front: true },
      { title: 'Makespan', y: 'makespan_s', zero: true },
    ],
  },
};
