// What needs a person, in sentences with the way to it; and how a destination stands, in a word.

import { h } from './dom.js';
import { counted } from './format.js';
import { icon } from './icon.js';
import { chip, foreign, lasting, when } from './parts.js';
import { to } from './route.js';

/** @typedef {import('./dom.js').Children} Children */

/** @param {any} status */
export function needs(status) {
  const found = [...ofRelays(status), ...status.destinations.flatMap(ofDestination), ...ofTopics(status)];
  if (found.length === 0) {
    return h('p', { class: 'notice good' }, icon('delivered'), h('span', null, 'All is well: nothing waits for a person.'));
  }
  return h('ul', { class: 'needs' }, found);
}

/**
 * How a destination stands, in a word.
 * @param {any} one
 */
export function standing({ pause, failing, configured, name }) {
  if (name === '') return chip('uncertain', 'unrouted');
  if (!configured) return chip('paused', 'not configured');
  if (pause) return chip('paused');
  return failing ? chip('failing') : chip('working');
}

/** @param {any} status */
function* ofRelays({ relays }) {
  if (relays.some((/** @type {any} */ relay) => relay.alive)) return;
  yield need('dead', 'bad', 'No relay is alive, so nothing is delivered. Is the daemon running? ', h('code', null, 'GET /readyz'), ' says what it waits for.');
}

/** @param {any} one */
function ofDestination({ name, configured, pause, failing, owed, settled }) {
  const link = (/** @type {Children} */ words) => h('a', { href: to(['destinations', name]) }, words);
  const found = [];
  if (failing) {
    found.push(need('failing', 'bad', link(foreign(name)), ' has taken no request for ', lasting(failing.since), ': ', foreign(failing.detail)));
  }
  if (settled.dead + settled.uncertain > 0) {
    const parts = [settled.dead && counted(settled.dead, 'delivery is dead', 'deliveries are dead'), settled.uncertain && `${settled.uncertain} uncertain`];
    found.push(need('dead', 'bad', link(foreign(name)), ': ', h('a', { href: to(['trouble']) }, parts.filter(Boolean).join(', '))));
  }
  if (pause) {
    found.push(need('paused', 'warn', link(foreign(name)), ' was paused ', when(pause.at), ' by ', foreign(pause.by), ': ', foreign(pause.reason)));
  }
  if (!configured && name !== '' && owed > 0) {
    found.push(need('paused', 'warn', foreign(name), ` is not in the configuration: ${counted(owed, 'delivery is', 'deliveries are')} held.`));
  }
  return found;
}

/** @param {any} status */
function ofTopics({ unrouted_topics: topics }) {
  return topics.map((/** @type {any} */ { topic, rows }) =>
    need('uncertain', 'warn', `${counted(rows, 'row', 'rows')} of the topic `, foreign(topic), rows === 1 ? ' has' : ' have', ' no route: name the topic in a destination, and ', h('code', null, 'aftercommit apply')));
}

/**
 * @param {import('./icon.js').Shape} shape
 * @param {'bad' | 'warn'} kind
 * @param {Children[]} words
 */
function need(shape, kind, ...words) {
  return h('li', { class: `notice ${kind}` }, icon(shape), h('span', null, words));
}
