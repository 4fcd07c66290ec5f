// The table of results: the columns that matter and fit, sorted by a press on a head, narrowed by words, a hundred
// rows at a time.

const kRowsAtOnce = 100;
const kDetail = 100;  // columns of this priority are in a row's own section alone
const kMinor = 20;    // from this priority on, what all rows share is not worth a word
const kPaperWidth = 1050;  // of columns that are printed, in pixels of the screen: a sheet shows them in letters of 9 pixels
const kKept = 2;      // up to this priority a column is never left out for want of room

/** Rows without a value stay last; equal ones keep their order. */
function sorted(rows, column, falling) {
  const order = isNumber(column) ? (a, b) => parseFloat(a) - parseFloat(b) : new Intl.Collator('en', { numeric: true }).compare;
  return [...rows].sort((one, other) => {
    const [a, b] = [one[column.name], other[column.name]];
    if (a === null || b === null) return (a === null) - (b === null);
    return falling ? order(b, a) : order(a, b);
  });
}

class ResultsTable {
  constructor({ study, columns, rows }) {
    Object.assign(this, { study, rows, order: rows, most: kRowsAtOnce, width: 0 });
    const values = (column) => new Set(rows.map((row) => row[column.name]));
    this.told = columns.filter((column) => [...values(column)].some((value) => value !== null));
    const [main] = study.charts;
    this.same = rows.length > 1 ? this.told.filter((column) => column.priority > 0 && column.name !== main.y && values(column).size === 1) : [];
    this.table = document.getElementById('results');
    this.box = this.table.parentElement;
    this.count = document.getElementById('shown');
    this.listen();
    this.sayWhatIsSame();
    this.renew();
    new ResizeObserver(() => { if (this.box.clientWidth !== this.width) this.draw(); }).observe(this.box);
    addEventListener('beforeprint', () => this.draw(kPaperWidth));
    addEventListener('afterprint', () => this.draw());
  }

  listen() {
    const on = (id, kind, action) => document.getElementById(id).addEventListener(kind, action);
    on('filter', 'input', (event) => {
      this.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
      this.most = kRowsAtOnce;
      this.renew();
    });
    on('every-column', 'change', (event) => { this.every = event.target.checked; this.draw(); });
    on('more', 'click', () => { this.most += kRowsAtOnce; this.draw(); });
  }

  /** What all rows share needs no column. */
  sayWhatIsSame() {
    const parts = this.same.filter((column) => column.priority < kMinor)
      .map((column) => `${column.title} ${shown(column, this.rows[0][column.name])}`);
    const caveats = this.told.filter((column) => column.caveat).map((column) => `${column.title}: ${column.caveat}`);
    if (parts.length) caveats.unshift(`The same in all rows: ${parts.join(', ')}.`);
    document.getElementById('same').textContent = caveats.join(' ');
  }

  text(row) {
    row.text ??= this.told.filter((column) => column.priority < kDetail || column.name === 'status')
      .map((column) => row[column.name]).join(' ').toLowerCase();
    return row.text;
  }

  renew() {
    const words = this.words || [];
    const kept = words.length ? this.rows.filter((row) => words.every((word) => this.text(row).includes(word))) : this.rows;
    this.order = this.sort ? sorted(kept, this.sort, this.falling) : kept;
    this.draw();
  }

  sortBy(column) {
    this.falling = this.sort === column && !this.falling;
    this.sort = column;
    this.renew();
    [...this.table.tHead.rows[0].cells].find((head) => head.dataset.name === column.name)?.firstChild.focus();
  }

  /** All columns are measured once; those of the lowest priority number that fit side by side stay. */
  draw(width = this.box.clientWidth) {
    this.width = width;
    const candidates = this.told.filter((column) => this.every || (column.priority < kDetail && !this.same.includes(column)));
    this.table.className = 'measuring';
    this.fill(candidates, false);
    const widths = [...this.table.tHead.rows[0].cells].map((head) => head.getBoundingClientRect().width);
    this.table.className = '';
    let left = this.width;
    const fits = new Set([...candidates.keys()].sort((a, b) => candidates[a].priority - candidates[b].priority).filter((c) => {
      if (!this.every && candidates[c].priority > kKept && widths[c] > left) return false;
      left -= widths[c];
      return true;
    }));
    this.fill(candidates.filter((_, c) => fits.has(c)), true);
    this.sayHowMany(candidates.length - fits.size);
  }

  fill(columns, reasons) {
    const rows = this.order.slice(0, this.most);
    this.table.replaceChildren(html('thead', {}, html('tr', {}, ...columns.map((column) => this.head(column)))),
      html('tbody', {}, ...rows.flatMap((row) => this.lines(row, columns, reasons))));
  }

  head(column) {
    const order = this.falling ? 'descending' : 'ascending';
    const button = html('button', { type: 'button', title: column.meaning }, column.title);
    button.addEventListener('click', () => this.sortBy(column));
    return html('th', { scope: 'col', 'data-name': column.name, 'aria-sort': this.sort === column ? order : 'none',
      ...(isNumber(column) ? { class: 'number' } : {}) }, button);
  }

  /** A row, and below it why it has no plan, or only a part of one. */
  lines(row, columns, reasons) {
    const cells = columns.map((column, c) => html('td', { class: isNumber(column) ? 'number' : 'text' },
      c === 0 ? html('a', { href: `#cell-${row.index}` }, shown(column, row[column.name])) : shown(column, row[column.name])));
    const line = html('tr', {}, ...cells);
    if (!reasons || !row.status || row.status === 'ok') return [line];
    line.className = 'explained';
    return [line, html('tr', { class: 'reason' }, html('td', { colspan: columns.length }, row.status))];
  }

  sayHowMany(hidden) {
    const number = (x) => x.toLocaleString('en');
    const [seen, all] = [Math.min(this.most, this.order.length), this.order.length];
    const rows = all === this.rows.length ? `${number(all)} rows` : `${number(all)} of ${number(this.rows.length)} rows`;
    this.count.textContent = `${rows}${seen < all ? `, the first ${number(seen)} shown` : ''}${hidden ? `; ${hidden} more columns do not fit` : ''}`;
    document.getElementById('more').hidden = seen === all;
    document.getElementById('more').textContent = `Show ${number(Math.min(kRowsAtOnce, all - seen))} more rows`;
  }
}
