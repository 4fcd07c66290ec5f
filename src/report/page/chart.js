// Points by name in a plane, joined by lines where one follows from the other.

const kInks = 7;
const kMostMarkers = 1000;  // of a series; more points are drawn as one shape that leads nowhere
const kShapes = [
  'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z', 'M-3.5-3.5h7v7h-7Z', 'M0-4.8L4.5 3.5H-4.5Z', 'M0-5L5 0L0 5L-5 0Z',
  'M0 4.8L4.5-3.5H-4.5Z', 'M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3Z'];

/** Colour and shape together tell 42 names apart. */
function marker(i, x, y) {
  return svg('path', { class: `marker ink-${i % kInks}`, d: kShapes[i % kShapes.length], transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });
}

/** 1, 2 and 5 times the powers of ten between; powers alone where these are many. */
function logTicks(low, high) {
  const out = [];
  const factors = high / low > 1e3 ? [1] : [1, 2, 5];
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10)
    for (const factor of factors)
      if (factor * decade >= low && factor * decade <= high) out.push(factor * decade);
  const every = Math.ceil(out.length / 7);
  return out.filter((_, i) => i % every === 0);
}
/** In whole units, of which bytes have powers of two. */
function linearTicks(low, high, bytes) {
  const [unit] = bytes ? unitOf(high, kBytes) : [1];
  const step = unit * niceStep((high - low) / unit, 6);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i += 1) out.push(i * step + 0);  // no -0
  return out;
}

/** Where values stand between two pixels. Words stand at equal distances. */
function scaleOf(values, from, to, { log, zero, bytes }) {
  const place = (low, high, f) => (v) => from + (to - from) * ((f(v) - f(low)) / (f(high) - f(low)));
  if (values.some((v) => typeof v !== 'number')) {
    const words = [...new Set(values)];
    return { at: (v) => from + (to - from) * ((words.indexOf(v) + 0.5) / words.length), ticks: words };
  }
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (log && low > 0) {
    [low, high] = [low / 1.25, high * 1.25];
    return { at: place(low, high, Math.log), ticks: logTicks(low, high) };
  }
  const room = zero ? 0.05 * high : 0.08 * (high - low) || 0.1 * Math.abs(high) || 1;
  [low, high] = [zero ? Math.min(low, 0) : low - room, high + room || 1];
  return { at: place(low, high, (v) => v), ticks: linearTicks(low, high, bytes) };
}

/** Counts that double again and again are drawn by their logarithms, with themselves as ticks. */
function scaleOfCounts(values, from, to) {
  const own = [...new Set(values)];
  if (own.some((v) => typeof v !== 'number')) return scaleOf(values, from, to, {});
  const log = Math.min(...own) > 0 && Math.max(...own) / Math.min(...own) >= 4;
  const scale = scaleOf(values, from, to, { log });
  return own.length <= 8 ? { at: scale.at, ticks: own.sort((a, b) => a - b) } : scale;
}

/**
 * A drawing of the given width. x and y are {title, show, tick, log, zero, bytes, counts}; series are [{ink, name, points: [{x, y, row}],
 * line}]; front is a list of points that a staircase joins.
 */
function chart(about, { x, y, series, front }, width) {
  const height = Math.min(Math.max(0.62 * width, 200), 300);
  const points = series.flatMap((one) => one.points);
  const bottom = height - 36;
  const up = scaleOf(points.map((p) => p.y), bottom, 10, y);
  const left = 12 + 6.4 * Math.max(...up.ticks.map((t) => y.tick(t).length));
  const along = (x.counts ? scaleOfCounts : scaleOf)(points.map((p) => p.x), left + 8, width - 16, x);
  const drawing = svg('svg', { class: 'drawing chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': about });
  drawing.append(...chartAxes({ x, y, along, up }, left, bottom, width));
  if (front) drawing.append(svg('path', { class: 'front', d: staircase(front, along, up, width) }));
  const taken = new Map();
  for (const one of series) drawing.append(seriesMarks(one, along, up, { x, y }, taken));
  return drawing;
}

function chartAxes({ x, y, along, up }, left, bottom, width) {
  const out = up.ticks.flatMap((t) => [svg('path', { class: 'grid', d: `M${left} ${up.at(t)}H${width - 8}` }),
    label(left - 5, up.at(t) + 4, 'quiet end', y.tick(t))]);
  let reached = 0;
  for (const t of along.ticks) {
    const text = x.tick(t);
    const middle = Math.min(along.at(t), width - 3.3 * text.length);
    out.push(svg('path', { class: 'grid', d: `M${along.at(t)} ${bottom}v4` }));
    if (middle - 3.3 * text.length < reached) continue;
    reached = middle + 3.3 * text.length + 6;
    out.push(label(middle, bottom + 17, 'quiet middle', text));
  }
  return [...out, label((left + width) / 2, bottom + 33, 'middle', x.title)];
}

/** Where series have equal points, later markers stand beside the first, and later lines are dashed: none hides another. */
function seriesMarks({ ink, name, points, line }, along, up, { x, y }, taken) {
  const place = (p) => [along.at(p.x), up.at(p.y)];
  const key = (p) => place(p).map(Math.round).join(' ');
  const beside = points.map((p) => taken.get(key(p)) || 0);
  for (const one of new Set(points.map(key))) taken.set(one, (taken.get(one) || 0) + 1);
  const out = svg('g', { class: 'series' });
  if (line && points.length > 1)
    out.append(svg('path', { class: `line ink-${ink % kInks}${beside.some((one, i) => one && beside[i + 1]) ? ' over' : ''}`, d: `M${points.map((p) => place(p).map((v) => v.toFixed(1)).join(' ')).join('L')}` }));
  if (points.length > kMostMarkers)
    return fill(out, {}, [svg('path', { class: `marker ink-${ink % kInks}`, d: points.map((p) => `M${place(p).map((v) => v.toFixed(1)).join(' ')}m-1-1h2v2h-2z`).join('') })]);
  points.forEach((p, i) => {
    const [left, top] = place(p);
    const step = Math.ceil(beside[i] / 2) * (beside[i] % 2 ? 7 : -7);
    out.append(svg('a', { href: `#cell-${p.row.index}`, tabindex: -1 },
      svg('title', {}, `${name}: ${x.title} ${x.show(p.x)}, ${y.title} ${y.show(p.y)}`), marker(ink, left + step, top)));
  });
  return out;
}

/** Those that no other point is below and left of. */
function paretoFront(points) {
  let least = Infinity;
  return [...points].sort((a, b) => a.x - b.x || a.y - b.y).filter((p) => {
    const better = p.y < least;
    if (better) least = p.y;
    return better;
  });
}
function staircase(front, along, up, width) {
  const [first] = front;
  let d = `M${along.at(first.x)} 6V${up.at(first.y)}`;
  for (const p of front.slice(1)) d += `H${along.at(p.x)}V${up.at(p.y)}`;
  return `${d}H${width - 8}`;
}
