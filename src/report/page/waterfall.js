// From the model's FLOPs at peak to the iteration: each bar begins where the one before it ends.

// Computing is in shades of one grey, of which the timeline has none; the other parts have the timeline's colours.
const kWaterfallStyles = { model: 'useful', kernels: 'lost', sustained: 'lost+hatch', host: 'slack', slowed: 'slack+hatch',
  recomputation: 'recompute+hatch', tensor: 'group', experts: 'group', context: 'group', pipeline: 'transfer+hatch',
  reduction: 'all_reduce+hatch', step: 'step', bubble: 'held' };

/** Parts [key, name, time] that take time, in order, with their ends. */
function waterfallParts(cell) {
  let end = 0;
  return cell.waterfall.filter(([, , time]) => time > 0).map(([key, name, time]) => ({ key, name, time, end: (end += time) }));
}

function waterfall(cell) {
  const parts = waterfallParts(cell);
  if (!parts.length) return html('div', {});
  const model = parts[0].key === 'model' ? parts[0].time : 0;
  const words = ({ time, end }) => [inTime(time), percent(time / cell.iteration), ...(model ? [`MFU ${percent(model / end)}`] : [])].join(' · ');
  return html('div', { class: 'waterfall' }, html('h4', {}, model ? 'From peak to MFU' : 'What device time is spent on'),
    html('p', { class: 'quiet' }, 'Device time of an iteration, the mean of all devices by their peak: each part, its share, and the MFU that it leaves. The parts add up to the iteration.'),
    ...parts.map((part) => bar(part.name, words(part),
      [[(part.end - part.time) / cell.iteration, 'blank'], [part.time / cell.iteration, kWaterfallStyles[part.key]]])));
}
