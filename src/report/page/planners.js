// Planners against each other: problem by problem, and over all problems.

const kMostPlanners = 40;

function problemOf(row) {
  return `${row.model} · ${row.devices} devices of ${row.cluster} · mini-batch ${row.mini_batch}${row.setting && ` · ${row.setting}`}`;
}

function byProblem(rows) {
  const problems = new Map();
  for (const row of rows) {
    if (!problems.has(problemOf(row))) problems.set(problemOf(row), []);
    problems.get(problemOf(row)).push(row);
  }
  return problems;
}

/** For each planner: problems with a plan, how often no plan was faster, geometric mean of its speed over the fastest's. */
function standings(problems) {
  const out = new Map();
  for (const rows of problems.values()) {
    const best = Math.max(...rows.map((row) => row.samples_per_s || 0));
    for (const row of rows) {
      const standing = out.get(row.planner) || { planner: row.planner, problems: 0, solved: 0, first: 0, logs: 0 };
      out.set(row.planner, standing);
      standing.problems += 1;
      if (!row.samples_per_s) continue;
      standing.solved += 1;
      standing.first += row.samples_per_s === best;
      standing.logs += Math.log(row.samples_per_s / best);
    }
  }
  const relative = (s) => (s.solved ? Math.exp(s.logs / s.solved) : 0);
  return [...out.values()].map((s) => ({ ...s, relative: relative(s) })).sort((a, b) => b.relative - a.relative);
}

function standingsTable(problems) {
  return tableOf([
    ['Planner', (s) => s.planner],
    ['Problems with a plan', (s) => `${s.solved} of ${s.problems}`, true],
    ['Fastest or equal', (s) => String(s.first), true],
    ['Throughput over the fastest (geometric mean)', (s) => (s.solved ? s.relative.toFixed(3) : '-'), true],
  ], standings(problems).slice(0, kMostPlanners));
}

function planPanels(rows) {
  const least = Math.min(...rows.filter((row) => row.search_s > 0).map((row) => row.search_s));
  const fastest = [...rows].sort((a, b) => (b.samples_per_s || 0) - (a.samples_per_s || 0)).slice(0, kMostPlanners);
  return [
    barPanel('Throughput, samples/s', fastest, (row) => row.samples_per_s, (x) => x.toFixed(1)),
    barPanel('Gap to the lower bound', fastest, (row) => row.gap, percent),
    barPanel('Optimism: expected over simulated time (line: 1)', fastest, (row) => row.optimism,
      (x) => x.toFixed(3), { mark: 1 }),
    barPanel('Search time (logarithmic)', fastest, (row) => row.search_s, (x) => inTime(1e12 * x),
      { scale: (x) => Math.log10(Math.max(x, least) / least) + 0.1 }),
  ];
}

function startPlanners(rows) {
  if (!rows.length) return;
  const problems = byProblem(rows);
  const section = document.getElementById('planners');
  const panels = html('div', { class: 'panels' });
  const names = [...problems.keys()];
  const choice = html('select', {}, ...names.map((name) => html('option', {}, name)));
  const title = html('h4', {});
  const show = () => {
    title.textContent = choice.value;
    panels.replaceChildren(...planPanels(problems.get(choice.value)));
  };
  choice.addEventListener('change', show);
  section.append(html('p', { class: 'quiet' }, `Over all ${names.length} problems of this experiment, at most ${kMostPlanners} planners, the best first:`),
    standingsTable(problems), html('p', {}, html('label', {}, 'One problem: ', choice)), title, panels);
  section.hidden = false;
  show();
}
