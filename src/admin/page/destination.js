// One destination: where it goes, what limits it, what went wrong last, and what it would send next.

import { get, Problem } from './api.js';
import { h } from './dom.js';
import { count, size, span } from './format.js';
import { live } from './live.js';
import { dueness, needs, standing } from './needs.js';
import { block, facts, foreign, heading, nothing, problemBox, prose, table, when } from './parts.js';
import { patch } from './patch.js';
import { below, to } from './route.js';
import { steer } from './steer.js';
import { met } from './words.js';

/** @typedef {import('./dom.js').Children} Children */

/** What limits a destination: in words, and how the number is read. */
const LIMITS = /** @type {Record<string, [string, (value: any) => string]>} */ ({
  concurrency: ['Requests at once, per shard', count],
  shards: ['Shards', count],
  requests_per_second: ['Requests a second', count],
  batch_size: ['Rows a request', count],
  max_in_flight_bytes: ['Payloads at once, per shard', size],
  timeout_seconds: ['A request may take', span],
  max_attempts: ['Attempts', count],
  max_age_seconds: ['Given up after', span],
  breaker: ['Breaker', (on) => (on ? 'on' : 'off')],
});

/** @param {import('./main.js').Visit} visit */
export function destination({ main, path: [name], operator, signal }) {
  const [region, next] = [h('div'), h('div')];
  main.append(heading(foreign(name)), region, h('section', null,
    h('h2', null, 'What it would send next'),
    h('p', { class: 'quiet' }, 'Built as it would be sent, from reads alone. Nothing is sent.'),
    h('button', { type: 'button', onclick: () => void preview(name, next, signal) }, 'Show the next requests'), next));
  const view = live(region, signal,
    () => get(below(['destinations', name]), signal),
    (one) => {
      const urgent = needs({ destinations: [one], relays: [{ alive: true }], unrouted_topics: [] }, { at: name });
      return [
        !urgent.classList.contains('good') && urgent,
        operator && h('div', { class: 'actions', 'data-key': 'acts' }, steer(one, () => void view.look())),
        about(one),
        h('p', { class: 'actions', 'data-key': 'more' }, h('a', { href: to(['deliveries'], { destination: name }) }, 'Its deliveries'), h('a', { href: to(['audit'], { subject: name }) }, 'Its audit')),
        limits(one),
        h('h2', null, 'Last errors'),
        errors(one),
      ];
    });
}

/** @param {any} one */
function about(one) {
  const list = (/** @type {string} */ state, /** @type {number} */ number) => h('a', { href: to(['deliveries'], { state, destination: one.name }) }, count(number));
  /** @type {[string, Children][]} */
  const pairs = [
    ['Standing', standing(one)],
    ['Kind', one.kind ?? 'not in the configuration'],
    ['Address', one.url ? foreign(one.url) : '–'],
    ['Owed', [list('pending', one.owed), `, ${count(one.due)} ${dueness(one)}`]],
    ['In flight', count(one.in_flight)],
    ['Oldest owed', when(one.oldest_owed_at)],
    ['Delivered', list('delivered', one.settled.delivered)],
    ['Dead', list('dead', one.settled.dead)],
    ['Uncertain', list('uncertain', one.settled.uncertain)],
  ];
  if (one.usage) pairs.push(['Daily calls', [`${count(one.usage.used)} of ${count(one.usage.allowed)}, said `, when(one.usage.heard_at)]]);
  for (const { shard, owner } of one.shards) pairs.push([`Shard ${shard}`, owner ? ['relay ', h('code', null, owner.slice(0, 8))] : 'no relay dispatches it']);
  return facts(pairs);
}

/** @param {any} one */
function limits({ limits: given }) {
  if (!given) return null;
  const pairs = Object.entries(given).map(([name, value]) => {
    const [label, say] = LIMITS[name] ?? [name.replaceAll('_', ' '), String];
    return /** @type {[string, Children]} */ ([label, value === null ? 'no limit' : say(value)]);
  });
  return h('details', { 'data-key': 'limits' }, h('summary', null, 'Limits'), facts(pairs));
}

/** @param {any} one */
function errors({ name, last_errors: found }) {
  if (!found?.length) return nothing('No delivery that is owed or in trouble has an error.');
  return table('Last errors', [
    { name: 'When', cell: (/** @type {any} */ one) => when(one.at) },
    { name: 'Outbox row', kind: 'number', cell: (one) => h('a', { href: to(['deliveries', one.outbox_id, name]) }, one.outbox_id) },
    { name: 'What', cell: (one) => [met(one.outcome, one.http_status), one.http_status && ` · HTTP ${one.http_status}`] },
    { name: 'In words', cell: (one) => prose(one.detail) },
  ], found, (one) => `${one.outbox_id} ${one.at}`);
}

/**
 * @param {string} name
 * @param {HTMLElement} region
 * @param {AbortSignal} signal
 */
async function preview(name, region, signal) {
  const opened = /** @type {Set<string>} */ (new Set());
  try {
    const told = await get(below(['destinations', name, 'preview'], { limit: 5 }), signal);
    const draw = () => patch(region, block('What it would send next', JSON.stringify(told, null, 2), opened, draw));
    draw();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    patch(region, problemBox(error));
  }
}
