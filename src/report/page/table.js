// The table of results: sorted by a press on a head, narrowed by words.

function sortKey(row, column) {
  const cell = row.cells[column];
  if (!cell.classList.contains('number')) return cell.textContent;
  return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
}

/** Rows without a value stay last; equal ones keep their order. */
function sortRows(rows, column, falling) {
  const keyed = rows.map((row) => [sortKey(row, column), row]);
  const order = (a, b) => (typeof a === 'string' ? a.localeCompare(b, 'en', { numeric: true }) : a - b);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return falling ? order(b, a) : order(a, b);
  });
  return keyed.map(([, row]) => row);
}

function sortBy(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const falling = heads[column].getAttribute('aria-sort') === 'ascending';
  heads.forEach((head) => head.setAttribute('aria-sort', 'none'));
  heads[column].setAttribute('aria-sort', falling ? 'descending' : 'ascending');
  table.tBodies[0].append(...sortRows([...table.tBodies[0].rows], column, falling));
}

function narrow(table, words, count) {
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    shown += !row.hidden;
  }
  count.textContent = `${shown} of ${table.tBodies[0].rows.length} rows`;
}

function startTable() {
  const table = document.getElementById('results');
  const filter = document.getElementById('filter');
  const count = document.getElementById('shown');
  const renew = () => narrow(table, filter.value.toLowerCase().split(/\s+/), count);
  [...table.tHead.rows[0].cells].forEach((head, column) =>
    head.firstChild.addEventListener('click', () => sortBy(table, column)));
  filter.addEventListener('input', renew);
  renew();
}
