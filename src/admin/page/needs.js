// What needs a person, in sentences with the way to it; and how a destination stands, in a word.

import { h } from './dom.js';
import { count, counted } from './format.js';
import { icon } from './icon.js';
import { by, chip, foreign, lasting, prose, when } from './parts.js';
import { to } from './route.js';
import { resume } from './steer.js';
import { meanwhile } from './waits.js';

/** @typedef {import('./dom.js').Children} Children */

/**
 * @typedef {object} Reader Who reads it, and where.
 * @property {(() => void) | false} [then] What follows when an operator has mended something; false for who may not.
 * @property {string} [at] The destination whose view this is: nothing there leads to itself.
 */

/**
 * @param {any} status
 * @param {Reader} reader
 */
export function needs(status, reader) {
  const found = [...ofRelays(status), ...status.destinations.flatMap((/** @type {any} */ one) => ofDestination(one, reader)), ...ofTopics(status, reader)];
  if (found.length === 0) {
    return h('p', { class: 'notice good' }, icon('delivered'), h('span', null, 'All is well: nothing waits for a person.'));
  }
  return h('ul', { class: 'needs' }, found);
}

/**
 * How a destination stands, in a word.
 * @param {any} one
 */
export function standing({ pause, failing, configured, name, settled }) {
  if (name === '') return chip('uncertain', 'unrouted');
  if (!configured) return chip('paused', 'not configured');
  if (pause) return chip('paused');
  if (failing) return chip('failing');
  return settled.dead + settled.uncertain > 0 ? chip('uncertain', 'working, with trouble') : chip('working');
}

/** @param {any} status */
function* ofRelays({ relays }) {
  if (relays.some((/** @type {any} */ relay) => relay.alive)) return;
  yield need('dead', 'bad', 'No relay is alive, so nothing is delivered. Is the daemon running? ', h('code', null, 'GET /readyz'), ' says what it waits for.');
}

/**
 * What keeps these destinations from taking anything; nothing if nothing does.
 * @param {any} status
 * @param {string | null} destination Its name; null for all.
 * @param {Reader} reader
 */
export function obstacles({ destinations }, destination, reader) {
  const concerned = destinations.filter((/** @type {any} */ one) => destination === null || one.name === destination);
  const found = concerned.flatMap((/** @type {any} */ one) => ofDestination({ ...one, settled: { dead: 0, uncertain: 0 } }, reader));
  return found.length > 0 && h('ul', { class: 'needs', 'data-key': 'obstacles' }, found);
}

/**
 * What of a destination waits for a person, each number with the way to it; nothing if there is none.
 * @param {any} one
 */
export function troubles({ name, settled }) {
  const list = (/** @type {'dead' | 'uncertain'} */ state) => settled[state] > 0
    && h('a', { class: 'bad', href: to(['deliveries'], { state, destination: name }) }, `${count(settled[state])} ${state}`);
  const both = [list('dead'), list('uncertain')].filter(Boolean);
  return both.flatMap((one, index) => (index > 0 ? [', ', one] : [one]));
}

/**
 * @param {any} one
 * @param {Reader} reader
 */
function ofDestination(one, { then, at }) {
  const { name, configured, pause, failing, owed, settled } = one;
  const link = (/** @type {Children} */ words) => (name === at ? words : h('a', { href: to(['destinations', name]) }, words));
  const found = [];
  if (failing) {
    found.push(need('failing', 'bad', 'Every request to ', link(foreign(name)), ' has failed for ', lasting(failing.since), ': ', prose(failing.detail), pause || !configured ? null : ['; ', meanwhile(one)]));
  }
  if (settled.dead + settled.uncertain > 0) {
    const parts = [settled.dead && counted(settled.dead, 'delivery is dead', 'deliveries are dead'), settled.uncertain && `${settled.uncertain} uncertain`];
    found.push(need('dead', 'bad', link(foreign(name)), ': ', h('a', { href: to(['trouble'], { destination: name }) }, parts.filter(Boolean).join(', '))));
  }
  if (pause) {
    found.push(need('paused', 'warn', link(foreign(name)), ' was paused ', when(pause.at), ' by ', by(pause.by), ': ', prose(pause.reason), then && name !== at && [' ', resume(one, then)]));
  }
  if (!configured && name !== '' && owed > 0) {
    found.push(need('paused', 'warn', foreign(name), ` is not in the configuration: ${counted(owed, 'delivery is', 'deliveries are')} held.`));
  }
  return found;
}

/**
 * @param {any} status
 * @param {Reader} reader
 */
function ofTopics({ unrouted_topics: topics }, { then }) {
  return topics.map((/** @type {any} */ { topic, rows }) =>
    need('uncertain', 'warn', `${counted(rows, 'row', 'rows')} of the topic `, foreign(topic), rows === 1 ? ' has' : ' have', ' no route. Name the topic in a destination, and ', h('code', null, 'aftercommit apply'),
      rows === 1 ? ': it is sent there.' : ': they are sent there.',
      then && [' A further destination gets ', rows === 1 ? 'it' : 'them', ' by a ', h('a', { href: to(['replays', 'new'], { missing: 'true', topic }) }, 'replay of rows that it never had'), '.']));
}

/**
 * @param {import('./icon.js').Shape} shape
 * @param {'bad' | 'warn'} kind
 * @param {Children[]} words
 */
function need(shape, kind, ...words) {
  return h('li', { class: `notice ${kind}` }, icon(shape), h('span', null, words));
}
