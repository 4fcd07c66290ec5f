// Measured against simulated iteration times, on logarithmic axes.

function logScale(low, high, from, to) {
  const span = Math.log(high / low);
  return (x) => from + (to - from) * (Math.log(x / low) / span);
}

function scatterAxes(low, high, x, y, size) {
  const lines = logTicks(low, high).flatMap((t) => [
    svg('path', { class: 'grid', d: `M${x(t)} ${y(low)}V${y(high)}M${x(low)} ${y(t)}H${x(high)}` }),
    label(x(t), size - 28, 'quiet middle', inTime(1e12 * t)),
    label(62, y(t) + 4, 'quiet end', inTime(1e12 * t)),
  ]);
  return [...lines, label((x(low) + x(high)) / 2, size - 8, 'middle', 'measured'),
    svg('text', { class: 'middle', transform: `translate(12 ${(y(low) + y(high)) / 2}) rotate(-90)` }, 'simulated')];
}

function scatter(rows) {
  const size = 460;
  const all = rows.flatMap((row) => [row.low, row.high, row.measured, row.simulated]);
  const [low, high] = [Math.min(...all) / 1.25, Math.max(...all) * 1.25];
  const x = logScale(low, high, 70, size - 12);
  const y = logScale(low, high, size - 44, 12);
  const band = `M${x(low)} ${y(low * 1.1)}L${x(high / 1.1)} ${y(high)}H${x(high)}V${y(high / 1.1)}L${x(low * 1.1)} ${y(low)}H${x(low)}Z`;
  const dots = rows.map((row) => svg('g', {},
    svg('path', { class: 'spread', d: `M${x(row.low)} ${y(row.simulated)}H${x(row.high)}` }),
    svg('circle', { class: 'dot', cx: x(row.measured), cy: y(row.simulated), r: 4 },
      svg('title', {}, `${row.plan}: measured ${inTime(1e12 * row.measured)}, simulated ${inTime(1e12 * row.simulated)}, error ${percent(row.error)}`))));
  return svg('svg', { class: 'drawing', viewBox: `0 0 ${size} ${size}`, style: 'max-width: 520px', role: 'img',
    'aria-label': 'simulated over measured iteration time; the table below has the numbers' },
  svg('path', { class: 'near', d: band }), ...scatterAxes(low, high, x, y, size),
  svg('path', { class: 'exact', d: `M${x(low)} ${y(low)}L${x(high)} ${y(high)}` }), ...dots);
}

function startValidation(rows) {
  if (!rows.length) return;
  const errors = rows.map((row) => Math.abs(row.error)).sort((a, b) => a - b);
  const section = document.getElementById('validation');
  const time = (key) => (row) => inTime(1e12 * row[key]);
  section.append(
    html('p', { class: 'quiet' }, `Iteration times of ${rows.length} plans: on the line the simulation is right, in the shaded band within 10 %; bars span low to high of the measurements. Half of the errors are at most ${percent(errors[Math.floor((errors.length - 1) / 2)])}, the largest is ${percent(errors[errors.length - 1])}.`),
    html('div', { class: 'beside' }, scatter(rows), tableOf([['Plan', (row) => row.plan], ['Measured', time('measured'), true], ['Low', time('low'), true],
      ['High', time('high'), true], ['Simulated', time('simulated'), true], ['Error', (row) => percent(row.error), true]], rows)));
  section.querySelector('table').classList.add('wrapped');
  section.hidden = false;
}
