// Brings the page to life.

const kMostListed = 40;

/** Lines for areas that colour alone should not tell apart; in the page once. */
function addHatch() {
  const lines = svg('path', { d: 'M-1 5L5 -1M2 8L8 2', stroke: '#000', 'stroke-opacity': 0.45 });
  document.body.append(svg('svg', { width: 0, height: 0, style: 'position: absolute', 'aria-hidden': 'true' },
    svg('pattern', { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse' }, lines)));
}

/** Sections of rows, made when they are asked for; in the page in the order of the rows. */
class Sections {
  constructor(table) {
    Object.assign(this, { table, made: new Map(), list: document.getElementById('opened') });
    if (table.rows.length <= kMostListed) table.rows.forEach((row) => this.get(row.index));
  }
  get(index) {
    if (!this.made.has(index) && this.table.rows[index]) {
      const section = new Section(this.table, this.table.rows[index]);
      const next = [...this.made.keys()].filter((other) => other > index).sort((a, b) => a - b)[0];
      this.list.insertBefore(section.details, next === undefined ? null : this.made.get(next).details);
      this.made.set(index, section);
    }
    return this.made.get(index);
  }
  all() { return [...this.made.values()]; }
}

/** Opens the section that the address names, and moves there. */
async function follow(sections) {
  const named = /^#cell-(\d+)$/.exec(location.hash);
  const section = named && sections.get(Number(named[1]));
  if (!section) return;
  await section.open();
  section.details.scrollIntoView();
  section.details.querySelector('summary').focus({ preventScroll: true });
}

async function startRows() {
  const table = readTable(await unpack('rows-data'));
  if (!table.rows.length) return;
  document.getElementById('cells').hidden = false;
  if (table.rows.length > 1) {
    new Comparison(table);
    document.getElementById('rows').hidden = false;
    new ResultsTable(table);
    if (table.byThroughput) startStandings(table);
  }
  const [only] = table.rows.length === 1 ? table.rows : [];
  if (!only) document.getElementById('how').textContent = table.rows.length > kMostListed ? 'Press the first cell of a row in the table, or a point of a chart: the row opens here.' : 'Open one to see all that is known of it.';
  const sections = new Sections(table);
  addEventListener('hashchange', () => follow(sections));
  // A row that is pressed once more is moved to once more, though the address stays.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#cell-"]');
    if (link && link.getAttribute('href') === location.hash) follow(sections);
  });
  const [best, next] = table.rows;  // of a plan with the next best ones
  if (only || next.planner?.startsWith(`${best.planner}, next best`)) await sections.get(best.index).open();
  await follow(sections);
}

async function startPage() {
  addHatch();
  startClaims(await unpack('claims-data'));
  startValidation(await unpack('validation-data'));
  await startRows();
  document.body.dataset.ready = 'yes';
}

startPage();
