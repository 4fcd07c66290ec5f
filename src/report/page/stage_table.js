// What each stage has and does.

const kNamesAtOnce = 3;
const kStagesAtOnce = 16;

/** "0", "0-3", "0, 2, 5-6". */
function ranges(numbers) {
  const out = [];
  for (const n of [...numbers].sort((a, b) => a - b)) {
    const last = out[out.length - 1];
    if (last && last[1] === n - 1) last[1] = n;
    else out.push([n, n]);
  }
  return out.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(', ');
}

/** "device 3", "devices 8 to 15, 8 alike". */
function namesOf(devices) {
  if (devices.length === 1) return `device ${devices[0]}`;
  return `devices ${ranges(devices).replace(/^(\d+)-(\d+)$/, '$1 to $2')}, ${devices.length} alike`;
}

/** All names; of many the first and the last, and the others when opened. */
function operatorNames(names) {
  if (names.length <= kNamesAtOnce) return names.join(', ');
  return html('details', { class: 'names' }, html('summary', {}, `${names.length}: ${names[0]} … ${names[names.length - 1]}`), names.join(', '));
}

function degrees(stage) {
  const degree = (name, n) => (n > 1 ? `${name}${n}` : '');
  return [degree('DP', stage.replicas), ...stage.divided.map(([letters, n]) => degree(letters, n)), degree('EP', stage.expert_parallel),
    stage.zero ? `ZeRO ${stage.zero}` : '', stage.recompute ? `recomputes: ${stage.recompute}` : ''].filter(Boolean).join(', ');
}

function stageTable(cell) {
  const times = stageTimes(cell);
  const rows = cell.stages.map((stage, s) => ({ ...stage, s, time: times[s] }));
  const divided = rows.some((row) => degrees(row)) ? [['Divided', degrees]] : [];
  const table = tableOf([['Stage', (r) => String(r.s), true], ['Devices', (r) => ranges(r.devices)], ['Operators', (r) => operatorNames(r.operators)],
    ...divided, ['Micro-batch', (r) => String(r.micro_batch), true], ['Computes', (r) => inTime(r.time), true]], rows);
  table.querySelector('table').classList.add('wrapped', 'stacked');
  return html('details', { class: 'plain', ...(rows.length <= kStagesAtOnce ? { open: '' } : {}) },
    html('summary', {}, html('h4', {}, `Operators of the ${rows.length === 1 ? 'stage' : `${rows.length} stages`}`)), table);
}
