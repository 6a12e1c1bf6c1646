// Every destination: how it stands, and pausing, resuming and testing it.

import { get } from './api.js';
import { h } from './dom.js';
import { count } from './format.js';
import { live } from './live.js';
import { standing } from './needs.js';
import { foreign, heading, nothing, table, when } from './parts.js';
import { to } from './route.js';
import { steer } from './steer.js';

/** @param {import('./main.js').Visit} visit */
export function destinations({ main, operator, signal }) {
  const region = h('div');
  main.append(heading('Destinations'), region);
  const view = live(region, signal,
    () => get('/destinations', signal),
    ({ destinations: all }) => (all.length === 0
      ? nothing('No destination is configured yet. Name one in ', h('code', null, 'aftercommit.toml'), ' and send the daemon a SIGHUP.')
      : table('Destinations', columns(operator, () => void view.look()), all, (one) => one.name)));
}

/**
 * @param {boolean} operator
 * @param {() => void} then
 * @returns {{ name: string, cell: (one: any) => import('./dom.js').Children, kind?: 'number' | 'short' | 'long' }[]}
 */
function columns(operator, then) {
  return [
    { name: 'Name', cell: (one) => [one.name ? h('a', { href: to(['destinations', one.name]) }, foreign(one.name)) : 'no route', ' ', h('small', null, one.kind)] },
    { name: 'Standing', cell: standing },
    { name: 'Owed', kind: 'number', cell: (one) => count(one.owed) },
    { name: 'In flight', kind: 'number', cell: (one) => count(one.in_flight) },
    { name: 'Oldest owed', cell: (one) => when(one.oldest_owed_at) },
    { name: 'Dead', kind: 'number', cell: (one) => list(one, 'dead') },
    { name: 'Uncertain', kind: 'number', cell: (one) => list(one, 'uncertain') },
    ...(operator ? [{ name: 'Do', cell: (/** @type {any} */ one) => h('div', { class: 'actions' }, steer(one, then)) }] : []),
  ];
}

/**
 * A number that needs a person, with the way to it.
 * @param {any} one
 * @param {'dead' | 'uncertain'} state
 */
function list({ name, settled }, state) {
  const number = count(settled[state]);
  return settled[state] > 0 ? h('a', { href: to(['deliveries'], { state, destination: name }) }, number) : number;
}
