// Lists of deliveries: a filter that lives in the address, page by page, kept up to date.

import { get, now } from './api.js';
import { bulk } from './bulk.js';
import { h } from './dom.js';
import { filterForm, filterOf } from './filter.js';
import { live } from './live.js';
import { chip, foreign, heading, nothing, table, when } from './parts.js';
import { patch } from './patch.js';
import { below, to } from './route.js';
import { waitsFor } from './waits.js';
import { because } from './words.js';

const PAGE = 50;
/** In an address: the list shows more than what somebody came for, so nothing is to be done with all of it. */
export const LOOK = 'look';

/** @param {import('./main.js').Visit} visit */
export function deliveries({ main, query, operator, signal }) {
  let filter = filterOf(query);
  let after = query.get('after');
  let looking = query.has(LOOK);
  const actions = h('div', { class: 'actions' });
  const region = h('div');
  const drawActions = (/** @type {import('./dom.js').Children} */ forAll) => patch(actions, [
    [...filter].length > 0 && h('a', { 'data-key': 'clear', href: to(['deliveries']) }, 'Clear filter'),
    forAll,
  ]);
  const forAll = () => (looking ? h('p', { class: 'quiet' }, 'These are more than what you came from: choose a filter to act on some.')
    : bulk(filter, () => void list.look()));
  const changed = (/** @type {URLSearchParams} */ wanted) => {
    if (String(wanted) === String(filter)) return;
    [filter, after, looking] = [wanted, null, false];
    history.pushState(null, '', to(['deliveries'], filter));
    drawActions(null);
    void list.look();
  };
  const form = filterForm(filter, [], changed);
  main.append(heading('Deliveries'), form, actions, region);
  const names = form.querySelector('datalist');
  const asked = () => new URLSearchParams([...filter, ['limit', String(PAGE)], ...(after ? [['after', after]] : [])]);
  drawActions(null);
  const list = live(region, signal,
    async () => {
      const [page, status] = await Promise.all([get(below(['deliveries'], asked()), signal), get('/status', signal)]);
      return { ...page, destinations: status.destinations };
    },
    ({ deliveries: rows, next, destinations }) => {
      if (names) patch(names, destinations.map((/** @type {any} */ { name }) => h('option', { value: name })));
      // What an old answer said of another filter is never acted on: the buttons come with the list, and go with the filter.
      drawActions(operator && (rows.length > 0 || next !== null) && forAll());
      return [
        rows.length > 0 ? table('Deliveries', columns(destinations), rows, (row) => `${row.outbox_id} ${row.destination}`)
          : next ? nothing('None among those looked at; there are more.') : nothing('No such deliveries.'),
        pager(['deliveries'], looking ? new URLSearchParams([...filter, [LOOK, 'only']]) : filter, after, next),
      ];
    });
}

/**
 * The way to older ones, and back to the newest.
 * @param {string[]} path
 * @param {URLSearchParams} query
 * @param {string | number | null} after
 * @param {string | number | null} next
 */
export function pager(path, query, after, next) {
  const from = (/** @type {string | number | null} */ place) => {
    const turned = new URLSearchParams(query);
    if (place === null) turned.delete('after');
    else turned.set('after', String(place));
    return to(path, turned);
  };
  return h('nav', { class: 'pager', 'aria-label': 'Pages', 'data-key': 'pager' },
    after !== null && h('a', { href: from(null) }, 'Newest'),
    next !== null && next !== undefined && h('a', { href: from(next) }, 'Older'));
}

/**
 * @param {any[]} destinations As the status has them: what they wait for, their deliveries do.
 * @returns {{ name: string, cell: (row: any) => import('./dom.js').Children, kind?: 'number' | 'short' | 'long' }[]}
 */
export function columns(destinations) {
  const waits = new Map(destinations.map((one) => [one.name, waitsFor(one)]));
  return [
    { name: 'State', cell: (row) => [chip(row.state), ' ', row.reason && row.reason !== 'accepted' && h('small', null, because(row.reason))] },
    { name: 'Row', cell: (row) => (row.destination ? h('a', { href: to(['deliveries', row.outbox_id, row.destination]) }, name(row)) : name(row)) },
    { name: 'Destination', cell: (row) => (row.destination ? h('a', { href: to(['destinations', row.destination]) }, foreign(row.destination)) : 'no route') },
    { name: 'Attempts', kind: 'number', cell: (row) => row.attempts },
    { name: 'When', cell: (row) => at(row, waits.get(row.destination) ?? null) },
    { name: 'Outbox row', kind: 'number', cell: (row) => row.outbox_id },
  ];
}

/** @param {any} row */
function name({ topic, row_key }) {
  return [foreign(topic), ' / ', foreign(row_key)];
}

/**
 * @param {any} row
 * @param {string | null} waits What its destination waits for.
 */
function at({ state, due_at, settled_at, cancel_at }, waits) {
  if (state !== 'pending') return when(settled_at);
  if (cancel_at) return ['to be cancelled, asked ', when(cancel_at)];
  return Date.parse(due_at) <= now() && waits ? waits : ['due ', when(due_at)];
}
