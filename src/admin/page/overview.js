// How things stand, at a glance: what needs a person first, then the numbers, then the last hour or day.

import { get, now, Problem } from './api.js';
import { chart } from './chart.js';
import { h } from './dom.js';
import { count, counted } from './format.js';
import { live } from './live.js';
import { needs, standing, troubles } from './needs.js';
import { foreign, heading, lasting, nothing, problemBox, when } from './parts.js';
import { to } from './route.js';
import { DUE_NOW, shares } from './waits.js';

/** @typedef {import('./chart.js').Point} Point */
/** @typedef {{ step_seconds: number, destinations: { destination: string, points: Point[] }[] }} History */

/** @param {import('./main.js').Visit} visit */
export function overview({ main, query, operator, signal }) {
  const span = query.get('span') === 'day' ? 'day' : 'hour';
  const region = h('div');
  main.append(heading('Overview'), region);
  const view = live(region, signal,
    async () => {
      const [status, history, minute] = await Promise.all([
        get('/status', signal),
        historyOf(span, signal),
        // How many are delivered in a minute, only the hour says.
        span === 'hour' ? null : historyOf('hour', signal),
      ]);
      return { status, history, minute: minute ?? history };
    },
    ({ status, history, minute }) => [
      h('section', { 'aria-label': 'What needs a person' }, needs(status, { then: operator && (() => void view.look()) })),
      numbers(status, minute),
      charts(status, history, span),
      relays(status.relays),
    ]);
}

/**
 * The history, or why there is none: the rest of the view does not depend on it.
 * @param {string} span
 * @param {AbortSignal} signal
 * @returns {Promise<History | Problem>}
 */
function historyOf(span, signal) {
  return get(`/history?span=${span}`, signal).catch((error) => {
    if (error instanceof Problem && error.status !== 0) return error;
    throw error;
  });
}

/**
 * @param {any} status
 * @param {History | Problem} minute
 */
function numbers({ destinations }, minute) {
  const sum = (/** @type {(one: any) => number} */ of) => destinations.reduce((/** @type {number} */ total, /** @type {any} */ one) => total + of(one), 0);
  const oldest = destinations.filter((/** @type {any} */ one) => one.oldest_owed_at)
    .sort((/** @type {any} */ a, /** @type {any} */ b) => Date.parse(a.oldest_owed_at) - Date.parse(b.oldest_owed_at))[0];
  const tile = (/** @type {string} */ name, /** @type {import('./dom.js').Children} */ value, /** @type {import('./dom.js').Children} */ more, /** @type {string} */ href) =>
    h('a', { class: 'tile', href }, h('span', { class: 'name' }, name), h('strong', null, value), h('small', null, more));
  return h('section', { class: 'tiles', 'aria-label': 'Numbers' },
    tile('Owed', count(sum((one) => one.owed)), dues(destinations), to(['deliveries'], { state: 'pending' })),
    tile('Delivered per minute', minute instanceof Problem ? '–' : count(lastMinute(minute)), 'in the last full minute', to(['deliveries'], { state: 'delivered' })),
    tile('Oldest owed', oldest ? lasting(oldest.oldest_owed_at) : '–', oldest ? ['to ', foreign(oldest.name || 'no route')] : 'nothing is owed',
      oldest ? to(['deliveries'], { state: 'pending', destination: oldest.name }) : to(['deliveries'])),
    tile('Dead', count(sum((one) => one.settled.dead)), 'given up', to(['deliveries'], { state: 'dead' })),
    tile('Uncertain', count(sum((one) => one.settled.uncertain)), 'may have arrived', to(['deliveries'], { state: 'uncertain' })));
}

/**
 * What is owed, by how it stands.
 * @param {any[]} destinations
 */
function dues(destinations) {
  const sums = new Map([[DUE_NOW, 0]]);
  for (const one of destinations) {
    for (const [words, number] of shares(one)) {
      if (number > 0) sums.set(words, (sums.get(words) ?? 0) + number);
    }
  }
  return [...sums].map(([words, number]) => `${count(number)} ${words}`).join(', ');
}

/** @param {History} history */
function lastMinute({ step_seconds, destinations }) {
  return destinations.reduce((total, { points }) => {
    const whole = points.filter((point) => Date.parse(point.at) + step_seconds * 1000 <= now());
    return total + (whole.at(-1)?.delivered ?? 0);
  }, 0);
}

/**
 * @param {any} status
 * @param {History | Problem} history
 * @param {'hour' | 'day'} span
 */
function charts({ destinations }, history, span) {
  const turn = (/** @type {string} */ to_span, /** @type {string} */ name) =>
    h('a', { href: to([], { span: to_span }), 'aria-current': span === to_span && 'true' }, name);
  const known = new Map(history instanceof Problem ? [] : history.destinations.map((one) => [one.destination, one.points]));
  return h('section', { 'data-key': 'charts' },
    h('div', { class: 'head' }, h('h2', null, 'By destination'),
      h('nav', { class: 'turn', 'aria-label': 'Time shown' }, turn('hour', 'Last hour'), turn('day', 'Last day'))),
    history instanceof Problem && problemBox(history),
    destinations.length === 0 && nothing('No destination is configured yet. Name one in ', h('code', null, 'aftercommit.toml'), ' and send the daemon a SIGHUP.'),
    h('ul', { class: 'rows' }, destinations.map((/** @type {any} */ one) => h('li', { class: 'row', 'data-key': `d ${one.name}` },
      h('div', null,
        h('h3', null, one.name ? h('a', { href: to(['destinations', one.name]) }, foreign(one.name)) : 'No route'), standing(one),
        h('p', { class: 'quiet' }, `${count(one.owed)} owed`, one.oldest_owed_at && [', the oldest for ', lasting(one.oldest_owed_at)]),
        troubles(one).length > 0 && h('p', null, troubles(one))),
      known.has(one.name) && chart(one.name, known.get(one.name) ?? [], span === 'hour' ? { unit: 'a minute', span } : { unit: 'in 15 minutes', span })))),
    h('p', { class: 'quiet legend' }, h('span', { class: 'delivered' }, 'up: delivered'), h('span', { class: 'failed' }, 'down: attempts that failed')));
}

/** @param {any[]} relays */
function relays(relays) {
  const alive = relays.filter((relay) => relay.alive);
  return h('p', { class: 'quiet', 'data-key': 'relays' },
    counted(alive.length, 'relay is alive', 'relays are alive'),
    alive.map((relay) => [' · ', foreign(relay.version), ', heard of ', when(relay.beat_at)]));
}
