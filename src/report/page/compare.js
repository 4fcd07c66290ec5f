// The charts: how planners, or schedules, do as devices grow; what time costs in memory; what the search takes.

const kMostSeries = 12;

/** Values of the axis that numbers name are numbers. */
function axisValue(row, axis) {
  row.axes ??= axesOf(row.setting);
  const value = axis in row ? row[axis] : row.axes[axis];
  return typeof value === 'string' && value !== '' && !Number.isNaN(Number(value)) ? Number(value) : value;
}
function inWords(name) {
  return name.replaceAll('_', ' ').replace('mini batch', 'mini-batch').replace('micro batch', 'micro-batch');
}
function distinct(values) {
  return [...new Set(values)];
}

class Comparison {
  constructor({ study, columns, rows }) {
    const [main] = study.charts;
    this.study = study;
    this.columns = new Map(columns.map((column) => [column.name, column]));
    this.rows = rows.filter((row) => study.charts.some(({ y }) => row[y] !== null && row[y] !== undefined));
    this.names = distinct(this.rows.map((row) => row[study.series]));
    this.charts = study.charts.filter(({ y }) => this.rows.some((row) => row[y] !== null && row[y] !== undefined));
    this.main = main;
    this.settings = distinct(this.rows.flatMap((row) => Object.keys(axesOf(row.setting))));
    this.over = this.axes()[0];
    this.section = document.getElementById('charts');
    this.controls = html('p', { class: 'controls' });
    this.legend = html('div', { class: 'legend' });
    this.figures = html('div', { class: 'figures' });
    this.section.append(this.controls, this.legend, this.figures);
    this.section.hidden = false;
    this.regroup();
    new ResizeObserver(() => this.draw()).observe(this.figures);
  }

  /** What there is more than one value of; the first of all axes where there is none. */
  axes() {
    const all = [...this.study.over, ...this.settings];
    const varied = all.filter((axis) => distinct(this.rows.map((row) => axisValue(row, axis))).length > 1);
    return varied.length ? varied : all.slice(0, 1);
  }

  /** Rows are in one group where they differ in planner and along the axis; what goes with the axis, as a mini-batch
      with the devices, tells groups apart only where it must. */
  regroup() {
    const bound = this.study.over.filter((axis) => axis !== this.over && this.study.over.includes(this.over));
    const free = [...this.study.fields, ...this.settings].filter((field) => field !== this.over && !bound.includes(field));
    this.grouped = this.groupBy(free);
    const twice = [...this.grouped.values()].some((rows) =>
      distinct(rows.map((row) => `${row[this.study.series]}|${axisValue(row, this.over)}`)).length < rows.length);
    if (twice) this.grouped = this.groupBy([...free, ...bound]);
    this.group = [...this.grouped.keys()][0];
    this.renew();
  }
  groupBy(fields) {
    const extra = fields.filter((field) => !['model', 'cluster', 'pipeline'].includes(field)
      && distinct(this.rows.map((row) => axisValue(row, field))).length > 1);
    const groups = new Map();
    for (const row of this.rows) {
      const key = [this.study.group(row), ...extra.map((field) => `${inWords(field)} ${axisValue(row, field)}`)].join(', ');
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(row);
    }
    return groups;
  }

  renew() {
    const rows = this.grouped.get(this.group);
    const places = distinct(rows.map((row) => axisValue(row, this.over)));
    this.places = places.every((place) => typeof place === 'number') ? places.sort((a, b) => a - b) : places;
    if (!this.places.includes(this.at)) this.at = this.places[this.places.length - 1];
    this.kept = this.best(rows);
    this.controls.replaceChildren(...this.choices());
    this.legend.replaceChildren(...this.kept.map((name) => this.sample(name)));
    this.draw();
  }

  /** At most so many names, those that do best somewhere. */
  best(rows) {
    const { y, best } = this.main;
    const values = (name) => rows.filter((row) => row[this.study.series] === name && row[y] !== null).map((row) => row[y]);
    const names = distinct(rows.map((row) => row[this.study.series])).map((name) => [name, best(...values(name))]);
    const order = (a, b) => (best === Math.max ? b[1] - a[1] : a[1] - b[1]);
    const kept = new Set([...names].sort(order).slice(0, kMostSeries).map(([name]) => name));
    this.left = names.length - kept.size;
    return names.map(([name]) => name).filter((name) => kept.has(name));
  }

  choices() {
    const out = [];
    const choice = (title, values, value, show, choose) => {
      if (values.length < 2) return;
      const select = html('select', {}, ...values.map((v, i) => html('option', { value: i, ...(v === value ? { selected: '' } : {}) }, show(v))));
      select.addEventListener('change', () => {
        choose(values[select.value]);
        this.controls.querySelectorAll('select')[out.findIndex((one) => one.dataset.title === title)]?.focus();
      });
      out.push(html('label', { 'data-title': title }, `${title} `, select));
    };
    choice('Show', [...this.grouped.keys()], this.group, (v) => v, (v) => { this.group = v; this.renew(); });
    choice('over', this.axes(), this.over, inWords, (v) => { this.over = v; this.regroup(); });
    if (this.study.over.includes(this.over))
      choice(`${this.frontTitle()} at`, this.places, this.at, (v) => `${v} ${inWords(this.over)}`, (v) => { this.at = v; this.renew(); });
    if (!out.length) out.push(html('span', {}, this.group));
    return out;
  }
  frontTitle() { return this.study.charts.find((one) => one.front).title.toLowerCase(); }

  sample(name) {
    return html('span', {}, svg('svg', { 'aria-hidden': 'true', viewBox: '-9 -6 18 12' }, marker(this.names.indexOf(name), 0, 0)), name);
  }

  draw() {
    if (this.figures.clientWidth === 0) return;
    if (this.figures.children.length !== this.charts.length)
      this.figures.replaceChildren(...this.charts.map(() => html('figure', {})));
    this.charts.forEach((one, i) => this.figure(one, this.figures.children[i]));
  }

  figure(one, figure) {
    const rows = this.grouped.get(this.group).filter((row) => this.kept.includes(row[this.study.series]) && row[one.y] !== null && row[one.y] !== undefined);
    const content = one.front ? this.frontOf(one, rows) : this.courseOf(one, rows);
    figure.replaceChildren(html('h3', {}, content.title), content.drawing(figure.clientWidth), html('figcaption', { class: 'quiet' }, [content.caption, this.columns.get(one.y)?.caveat].filter(Boolean).join(' ')));
  }

  axis(name, more) {
    const column = this.columns.get(name);
    const words = column ? { title: column.title.toLowerCase(), show: (v) => shown(column, v), tick: (v) => tick(column, v), bytes: column.kind === 'bytes' }
      : { title: inWords(name), show: String, tick: String };
    return { ...words, ...more };
  }

  series(rows, point, line) {
    return this.kept.map((name) => ({ name, ink: this.names.indexOf(name), line,
      points: rows.filter((row) => row[this.study.series] === name).map(point) })).filter((one) => one.points.length);
  }

  /** One value over the axis; bars where the axis has one place. */
  courseOf(one, rows) {
    const { title, y, log, zero, unit } = one;
    const axis = this.axis(y, { log, zero });
    const left = this.left ? `The best ${this.kept.length}; ${this.left} more are in the table.` : '';
    if (!rows.length) return { title, caption: 'Nothing known.', drawing: () => html('div', {}) };
    const words = `${title}${unit ? `, ${unit}` : ''}${log ? ', logarithmic' : ''}`;
    const sign = one.best === Math.max ? -1 : 1;
    if (this.places.length < 2)
      return { title: words, caption: left, drawing: () => barChart([...rows].sort((a, b) => sign * (a[y] - b[y])).map((row) => [row[this.study.series], row[y], axis.show(row[y])]), log) };
    const whole = { y: axis, x: this.axis(this.over, { counts: true }),
      series: this.series(rows, (row) => ({ x: axisValue(row, this.over), y: row[y], row }), this.places.every((v) => typeof v === 'number')) };
    for (const one of whole.series) one.points.sort((a, b) => a.x - b.x);
    return { title: `${words}, over ${inWords(this.over)}`, caption: left,
      drawing: (width) => chart(`${title} over ${inWords(this.over)}; the table has the numbers`, whole, width) };
  }

  frontOf({ title, x, y }, all) {
    const apart = this.study.over.includes(this.over) && this.places.length > 1;
    const rows = all.filter((row) => row[x] !== null && (!apart || axisValue(row, this.over) === this.at));
    const words = `${title}${apart ? `, ${this.at} ${inWords(this.over)}` : ''}`;
    if (!rows.length) return { title: words, caption: 'Nothing known.', drawing: () => html('div', {}) };
    const series = this.series(rows, (row) => ({ x: row[x], y: row[y], row }), false);
    const points = series.flatMap((one) => one.points.map((p) => ({ ...p, name: one.name })));
    const front = paretoFront(points);
    const on = points.filter((p) => front.some((f) => f.x === p.x && f.y === p.y)).map((p) => p.name);
    return { title: words, caption: `On the Pareto front, less of one only for more of the other: ${distinct(on).join(', ')}.`,
      drawing: (width) => chart(`${title}; the table has the numbers`, { x: this.axis(x), y: this.axis(y), series, front }, width) };
  }
}
