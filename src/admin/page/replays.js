// Every replay, the newest first.

import { get } from './api.js';
import { pager } from './deliveries.js';
import { h } from './dom.js';
import { selected } from './filter.js';
import { count } from './format.js';
import { live } from './live.js';
import { by, chip, foreign, heading, nothing, table, when } from './parts.js';
import { below, to } from './route.js';

/** @param {import('./main.js').Visit} visit */
export function replays({ main, query, operator, signal }) {
  const region = h('div');
  main.append(heading('Replays', operator && h('a', { class: 'button main', href: to(['trouble']) }, 'Find what to replay')), region);
  const after = query.get('after');
  live(region, signal,
    () => get(below(['replays'], { after, limit: 50 }), signal),
    ({ replays: all, next }) => [
      all.length > 0 ? table('Replays', COLUMNS, all, (one) => one.id) : nothing('There was no replay yet.'),
      pager(['replays'], query, after, next),
    ]);
}

/** @type {{ name: string, cell: (one: any) => import('./dom.js').Children, kind?: 'number' | 'short' | 'long' }[]} */
const COLUMNS = [
  { name: 'Replay', kind: 'short', cell: (one) => h('a', { href: to(['replays', one.id]) }, `Replay ${one.id}`) },
  { name: 'State', cell: (one) => replayChip(one.state) },
  { name: 'What', cell: (one) => foreign(selected(one)) },
  { name: 'Why', cell: (one) => [foreign(one.reason), ' ', h('small', null, 'by ', by(one.requested_by))] },
  { name: 'Made due', kind: 'number', cell: (one) => count(one.requeued) },
  { name: 'Asked for', cell: (one) => when(one.created_at) },
];

/** @param {string} state */
export function replayChip(state) {
  return chip(state === 'done' ? 'delivered' : state, state);
}
