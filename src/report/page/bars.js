// Horizontal bars, each with its name and value in words above it.

/** Parts are [share of the width, class]; `mark` is a share of the width to draw a line at. */
function bar(name, value, parts, mark) {
  const drawing = svg('svg', { 'aria-hidden': 'true' });
  let x = 0;
  for (const [share, style] of parts) {
    for (const part of style.split('+'))
      drawing.append(svg('rect', { x: `${100 * x}%`, width: `${100 * Math.max(share, 0)}%`, height: '100%', class: part }));
    x += Math.max(share, 0);
  }
  if (mark !== undefined)
    drawing.append(svg('line', { x1: `${100 * mark}%`, x2: `${100 * mark}%`, y2: '100%', class: 'mark' }));
  return html('div', { class: 'bar' }, html('div', {}, html('span', {}, name), html('b', {}, value)), drawing);
}

/** Bars of what `value` says of each row that has any, against the largest or `options.mark`. */
function barPanel(title, rows, value, show, options = {}) {
  const known = rows.filter((row) => value(row) !== null);
  const scale = options.scale || ((x) => x);
  const most = Math.max(...known.map((row) => scale(value(row))), options.mark || 0, Number.MIN_VALUE);
  const mark = options.mark === undefined ? undefined : options.mark / most;
  const bars = known.map((row) =>
    bar(row.planner, show(value(row)), [[scale(value(row)) / most, 'forward']], mark));
  return html('div', {}, html('h4', {}, title), ...bars,
    ...(known.length ? [] : [html('p', { class: 'quiet' }, 'Nothing known.')]));
}

/** Where each device's time goes; of several mini-batches, over all of them. */
function deviceShares(cell) {
  const whole = cell.length / 1e12 / cell.mini_batches;
  const share = (device, key) => (whole > 0 ? device[key] / whole : 0);
  const shareBar = (name, busy, exposed) => {
    const idle = Math.max(1 - busy - exposed, 0);
    return bar(name, `${percent(busy)} · ${percent(exposed)} · ${percent(idle)}`,
      [[busy, 'forward'], [exposed, 'transfer+hatch'], [idle, 'idle']]);
  };
  const mean = (key) => cell.devices.reduce((sum, device) => sum + share(device, key), 0) / cell.devices.length;
  const bars = cell.devices.map((device, d) => shareBar(`device ${d}`, share(device, 'busy_s'), share(device, 'exposed_s')));
  bars.unshift(shareBar('all devices', mean('busy_s'), mean('exposed_s')));
  return html('div', {}, html('h4', {}, 'Where the time goes'),
    html('p', { class: 'quiet' }, 'Share of the time drawn above that a device computes · waits for communication that no computation hides · waits otherwise. The last two are its bubble.'),
    legend([['forward', 'computes'], ['transfer+hatch', 'exposed communication'], ['idle', 'idle otherwise']]),
    html('div', { class: 'panels' }, ...bars));
}
