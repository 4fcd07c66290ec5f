// What papers state, and what came out here.

function startClaims(claims) {
  if (!claims.length) return;
  const section = document.getElementById('claims');
  section.append(tableOf([['Claim', (c) => c.claim], ['Source', (c) => c.source], ['Paper', (c) => c.paper], ['Ours', (c) => c.ours],
    ['Verdict', (c) => (c.reason ? `${c.verdict}: ${c.reason}` : c.verdict)]], claims));
  section.querySelector('table').classList.add('wrapped', 'stacked');
  section.hidden = false;
}
