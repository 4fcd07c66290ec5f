// Brings the page to life.

const kMostPrinted = 40;

/** Lines for areas that colour alone should not tell apart; in the page once. */
function addHatch() {
  const lines = svg('path', { d: 'M-1 5L5 -1M2 8L8 2', stroke: '#000', 'stroke-opacity': 0.45 });
  document.body.append(svg('svg', { width: 0, height: 0, style: 'position: absolute', 'aria-hidden': 'true' },
    svg('pattern', { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse' }, lines)));
}

/** Opens the section that the address names, and moves there. */
async function follow(sections) {
  const section = sections.get(location.hash.slice(1));
  if (!section) return;
  await section.open();
  section.details.scrollIntoView();
  section.details.querySelector('summary').focus({ preventScroll: true });
}

/** A page with few plans is printed whole; for that their data is read ahead, as printing does not wait. */
async function preparePrinting(sections) {
  if (sections.size > kMostPrinted) return;
  for (const section of sections.values()) await section.read();
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = [...sections.values()].filter((section) => !section.details.open);
    for (const section of opened) {
      section.details.open = true;
      section.draw();
    }
  });
  addEventListener('afterprint', () => opened.forEach((section) => { section.details.open = false; }));
}

async function startPage() {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  addHatch();
  startTable();
  startPlanners(read('results-data').results);
  startValidation(read('validation-data'));
  const all = [...document.querySelectorAll('#cells details')].map((details) => [details.id, new Section(details)]);
  const sections = new Map(all);
  addEventListener('hashchange', () => follow(sections));
  await follow(sections);
  await preparePrinting(sections);
}

startPage();
