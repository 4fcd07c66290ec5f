// Planners against each other over all problems.

const kMostPlanners = 40;

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
      standing.first += row.samples_per_s >= best * (1 - 1e-9);
      standing.logs += Math.log(row.samples_per_s / best);
    }
  }
  const relative = (s) => (s.solved ? Math.exp(s.logs / s.solved) : 0);
  return [...out.values()].map((s) => ({ ...s, relative: relative(s) })).sort((a, b) => b.relative - a.relative);
}

function startStandings({ study, rows }) {
  if (study !== kStudies.plans || distinct(rows.map((row) => row.planner)).length < 2) return;
  const problems = new Map();
  for (const row of rows) {
    const key = [row.model, row.cluster, row.devices, row.mini_batch, row.setting].join('|');
    if (!problems.has(key)) problems.set(key, []);
    problems.get(key).push(row);
  }
  if (problems.size < 2) return;
  const section = document.getElementById('planners');
  const all = standings(problems);
  section.append(
    html('p', { class: 'quiet' }, `Over all ${problems.size} problems, the best first${all.length > kMostPlanners ? `; ${kMostPlanners} of ${all.length}` : ''}. Speed is throughput over that of the problem's fastest plan, its geometric mean over problems with a plan.`),
    tableOf([['Planner', (s) => s.planner], ['Speed', (s) => (s.solved ? s.relative.toFixed(3) : '-'), true],
      ['Fastest', (s) => String(s.first), true], ['With a plan', (s) => `${s.solved} of ${s.problems}`, true]], all.slice(0, kMostPlanners)));
  section.hidden = false;
}
