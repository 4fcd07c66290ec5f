// Horizontal bars, each with its name and value in words above it.

/** Parts are [share of the width, class]. */
function bar(name, value, parts) {
  const drawing = svg('svg', { 'aria-hidden': 'true' });
  let x = 0;
  for (const [share, style] of parts) {
    for (const part of style.split('+'))
      drawing.append(svg('rect', { x: `${100 * x}%`, width: `${100 * Math.max(share, 0)}%`, height: '100%', class: part }));
    x += Math.max(share, 0);
  }
  return html('div', { class: 'bar' }, html('div', {}, html('span', {}, name), html('b', {}, value)), drawing);
}

/** Bars of [name, value, in words], against the largest value; logarithmic ones from a tenth of the least. */
function barChart(entries, log) {
  const values = entries.map(([, value]) => value);
  const [least, most] = [Math.min(...values.filter((value) => value > 0)), Math.max(...values, Number.MIN_VALUE)];
  const share = (value) => (log ? Math.log(Math.max(value, least) / (least / 10)) / Math.log(most / (least / 10)) : value / most);
  return html('div', {}, ...entries.map(([name, value, words]) => bar(name, words, [[share(value), 'forward']])));
}

/** Where each lane's time goes; of several mini-batches, over all of them. */
function deviceShares(cell) {
  const whole = cell.length / 1e12 / cell.mini_batches;
  const share = (lane, key) => (whole > 0 ? lane[key] / whole : 0);
  const shareBar = (name, busy, exposed) => {
    const idle = Math.max(1 - busy - exposed, 0);
    return bar(name, `${percent(busy)} · ${percent(exposed)} · ${percent(idle)}`,
      [[busy, 'forward'], [exposed, 'transfer+hatch'], [idle, 'idle']]);
  };
  const all = cell.lanes.reduce((sum, lane) => sum + lane.devices.length, 0);
  const mean = (key) => cell.lanes.reduce((sum, lane) => sum + share(lane, key) * lane.devices.length, 0) / all;
  const bars = cell.lanes.slice(0, kMostLanes).map((lane) => shareBar(namesOf(lane.devices), share(lane, 'busy_s'), share(lane, 'exposed_s')));
  bars.unshift(shareBar('all devices', mean('busy_s'), mean('exposed_s')));
  return html('div', {}, html('h4', {}, 'Where the time goes'),
    html('p', { class: 'quiet' }, 'Share of the time drawn above that a device computes · waits for communication that no computation hides · waits otherwise. The last two are its bubble.'),
    legend([['forward', 'computes'], ['transfer+hatch', 'exposed communication'], ['idle', 'idle otherwise']]),
    html('div', { class: 'panels' }, ...bars));
}
