// Elements of HTML and SVG, and quantities in words. Text only ever enters the page as text, never as markup.

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}
function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}
function label(x, y, style, text) {
  return svg('text', { x, y, class: style }, text);
}

const kTimes = [[1e12, 's'], [1e9, 'ms'], [1e6, 'µs'], [1e3, 'ns'], [1, 'ps']];
const kBytes = [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']];

function unitOf(value, units) {
  return units.find(([least]) => Math.abs(value) >= least) || units[units.length - 1];
}
/** Three significant digits with the largest unit that leaves at least one before the point; without zeros at the end if short. */
function inUnits(value, units, short = true) {
  const [size, name] = unitOf(value, units);
  const count = value / size;
  const digits = count.toPrecision(3);
  return `${Math.abs(count) >= 100 ? Math.round(count) : short ? Number(digits) : digits} ${name}`;
}
/** Of picoseconds. */
function inTime(ps) {
  return ps === 0 ? '0 s' : inUnits(ps, kTimes);
}
function inBytes(bytes) {
  return inUnits(bytes, kBytes);
}
function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

/** A step of 1, 2 or 5 times a power of ten that divides the whole into at most so many. */
function niceStep(whole, most) {
  const decade = 10 ** Math.floor(Math.log10(whole / most));
  return [1, 2, 5, 10].map((factor) => factor * decade).find((step) => whole / step <= most) || 10 * decade;
}

/** A table; columns are [title, how to show a row, whether it is a number]. */
function tableOf(columns, rows) {
  const style = (number) => (number ? { class: 'number' } : {});
  const head = columns.map(([title, , number]) => html('th', { scope: 'col', ...style(number) }, title));
  const lines = rows.map((row) =>
    html('tr', {}, ...columns.map(([title, show, number]) => html('td', { 'data-title': title, ...style(number) }, show(row)))));
  return html('div', { class: 'scroll' },
    html('table', {}, html('thead', {}, html('tr', {}, ...head)), html('tbody', {}, ...lines)));
}

/** Samples of what the classes of a drawing mean. */
function legend(entries) {
  const sample = (style) => svg('svg', { 'aria-hidden': 'true', viewBox: '0 0 18 11' },
    ...style.split('+').map((part) => (part.startsWith('path') || part === 'capacity' || part === 'edge'
      ? svg('path', { class: part, d: 'M1 6H17' })
      : svg('rect', { class: part, width: 18, height: 11 }))));
  return html('div', { class: 'legend' },
    ...entries.map(([style, meaning]) => html('span', {}, sample(style), meaning)));
}
