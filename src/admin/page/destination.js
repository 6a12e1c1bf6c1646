// One destination: where it goes, what limits it, what went wrong last, and what it would send next.

import { get, Problem } from './api.js';
import { h } from './dom.js';
import { count, counted, size, span } from './format.js';
import { live } from './live.js';
import { needs, standing } from './needs.js';
import { block, facts, foreign, heading, loading, nothing, problemBox, prose, saidBox, table, when } from './parts.js';
import { patch } from './patch.js';
import { below, to } from './route.js';
import { steer } from './steer.js';
import { DUE_NOW, waitsFor } from './waits.js';
import { answered, met } from './words.js';

/** @typedef {import('./dom.js').Children} Children */

/** Characters of an answer that its last errors show. */
const SHOWN = 200;

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
  breaker_open_seconds: ['An open breaker looks every', span],
});

/** @param {import('./main.js').Visit} visit */
export function destination({ main, path: [name], operator, signal }) {
  const [region, next] = [h('div'), h('div')];
  /** @type {import('./parts.js').Said | null} */
  let tried = null;
  const tell = (/** @type {import('./parts.js').Said | null} */ told) => {
    tried = told;
    view.redraw();
  };
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
        operator && h('div', { class: 'actions', 'data-key': 'acts' }, steer(one, () => void view.look(), tell)),
        h('div', { role: 'status', 'data-key': 'tried' }, tried && saidBox(tried, () => tell(null))),
        about(one),
        h('p', { class: 'actions', 'data-key': 'more' },
          h('a', { href: to(['deliveries'], { destination: name }) }, 'Its deliveries'),
          h('a', { href: to(['audit'], { subject: name }) }, 'Its audit'),
          operator && h('a', { href: to(['replays', 'new'], { missing: 'true', destination: name }) }, 'Replay rows that it never had…')),
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
    ['Owed', [list('pending', one.owed), one.owed > 0 && owing(one)]],
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

/**
 * What becomes of what is owed, in the words that follow its number.
 * @param {any} one
 */
function owing(one) {
  const words = waitsFor(one, one.owed);
  if (!words) return `, ${count(one.due)} ${DUE_NOW}`;
  return words.startsWith('held') ? `, ${words}` : ` ${words}`;
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
  const row = (/** @type {any} */ { outbox_id: id }) => [h('a', { href: to(['deliveries', id, name]) }, id), ' '];
  return table('Last errors', [
    { name: 'When', cell: (/** @type {any[]} */ [newest]) => when(newest.at) },
    { name: 'Outbox rows', cell: (all) => all.map(row) },
    { name: 'What', cell: ([newest]) => [met(newest.outcome, newest.http_status), newest.http_status && ` · ${answered(newest.http_status)}`] },
    { name: 'In words', kind: 'long', cell: inWords },
  ], alike(found), ([newest]) => `${newest.outbox_id} ${newest.at}`);
}

/**
 * What went wrong, and how the answer starts.
 * @param {any[]} alike The newest first.
 */
function inWords([{ http_status: status, detail, excerpt }]) {
  return [detail && detail !== `HTTP ${status}` && h('p', null, prose(detail)), excerpt && h('p', null, h('code', null, foreign(cut(excerpt))))];
}

/**
 * A part of an answer that fits a table; the delivery's own view has the rest.
 * @param {string} text
 */
function cut(text) {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

/**
 * Errors that say the same stand together: ten lines of one sentence hide the eleventh.
 * @param {any[]} found The newest first.
 * @returns {any[][]}
 */
function alike(found) {
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  for (const error of found) {
    const says = JSON.stringify([error.outcome, error.http_status, error.detail, error.excerpt]);
    groups.set(says, [...(groups.get(says) ?? []), error]);
  }
  return [...groups.values()];
}

/**
 * @param {string} name
 * @param {HTMLElement} region
 * @param {AbortSignal} signal
 */
async function preview(name, region, signal) {
  const opened = /** @type {Set<string>} */ (new Set());
  patch(region, h('div', { role: 'status' }, loading()));
  try {
    const told = await get(below(['destinations', name, 'preview'], { limit: 5 }), signal);
    const draw = () => patch(region, [
      h('div', { role: 'status' }, h('p', null, foreseen(told))),
      told.looked_at > 0 && block('What it would send next', JSON.stringify(told, null, 2), opened, draw),
    ]);
    draw();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    patch(region, problemBox(error));
  }
}

/**
 * A preview in a sentence.
 * @param {any} told
 */
function foreseen({ looked_at: deliveries, requests, unsent, paused }) {
  if (deliveries === 0) return 'Nothing is owed, so nothing would be sent.';
  const left = unsent.length > 0 ? `; ${counted(unsent.length, 'delivery cannot be sent', 'deliveries cannot be sent')}, and it says why` : '';
  return `${counted(requests.length, 'request', 'requests')} for the next ${counted(deliveries, 'delivery', 'deliveries')}${left}${paused ? ', once it is resumed' : ''}.`;
}
