// One replay: how far it is, and pausing, resuming and ending it.

import { get, post } from './api.js';
import { ask } from './ask.js';
import { COLUMNS, LOOK } from './deliveries.js';
import { h } from './dom.js';
import { inWords, queryOf, selected } from './filter.js';
import { count, counted, span } from './format.js';
import { live } from './live.js';
import { facts, foreign, heading, table, when } from './parts.js';
import { replayChip } from './replays.js';
import { below, to } from './route.js';

/** Deliveries that are shown one by one. */
const FEW = 10;

/** @param {import('./main.js').Visit} visit */
export function replay({ main, path: [id], query, operator, signal }) {
  const region = h('div');
  main.append(heading(`Replay ${id}`), region);
  const expected = Number(query.get('of')) || null;
  const view = live(region, signal,
    async () => {
      const one = await get(below(['replays', id]), signal);
      return { one, few: await deliveriesOf(one, signal) };
    },
    ({ one, few }) => [
      progress(one, expected),
      operator && h('div', { class: 'actions', 'data-key': 'acts' }, acts(one, () => void view.look())),
      facts([
        ['What', foreign(selected(one))],
        ['Why', foreign(one.reason)],
        ['Asked for', [when(one.created_at), ' by ', foreign(one.requested_by)]],
        ['Ended', when(one.finished_at)],
        ['Key', one.key === 'new' ? 'a new one: receivers carry it out once more' : 'the same: receivers that honour it do nothing twice'],
        ['Rate', one.rate ? `${count(one.rate)} a second` : 'as fast as the limits allow'],
      ]),
      one.filter && h('p', null, surroundings(one)),
      few && table('Its deliveries', COLUMNS, few, (row) => `${row.outbox_id} ${row.destination}`),
    ]);
}

/**
 * @param {any} one
 * @param {number | null} expected How many the dry run counted.
 */
function progress(one, expected) {
  const { state, requeued, left_alone, in_flight, skipped, rate, waits } = one;
  const under_way = state === 'running' || state === 'paused';
  const left = expected !== null && rate ? Math.max(0, expected - requeued) / rate : 0;
  return h('section', { class: 'standing', 'data-key': 'progress', 'aria-label': 'Progress' },
    h('p', null, replayChip(state), ' ', counted(requeued, 'delivery is', 'deliveries are'), ' due again', expected !== null && state !== 'done' && ` of about ${count(expected)}`, '.',
      state === 'running' && rate && ` It has begun, and makes ${count(rate)} due a second${left > 1 ? `: about ${span(left)} to go` : ''}.`),
    requeued > 0 && afterwards(one),
    left_alone > 0 && h('p', null, `Owed already, and left alone: ${count(left_alone)}.`),
    in_flight > 0 && h('p', null, `On the wire then, and left alone: ${count(in_flight)}.`),
    skipped > 0 && h('p', null, `Overtaken by a newer version, and left out: ${count(skipped)}.`),
    waits && h('p', null, foreign(waits)),
    under_way && bar(one, expected));
}

/**
 * How far it is: by deliveries where their number is known, else by the outbox rows that it has looked at.
 * @param {any} one
 * @param {number | null} expected
 */
function bar({ requeued, at_outbox_id, last_outbox_id }, expected) {
  return expected === null
    ? h('progress', { max: last_outbox_id, value: at_outbox_id, 'aria-label': 'Outbox rows looked at' })
    : h('progress', { max: expected, value: Math.min(requeued, expected), 'aria-label': 'Deliveries that are due again' });
}

/**
 * What is due again has not arrived yet: where to see what becomes of it.
 * @param {any} one
 */
function afterwards(one) {
  const destination = destinationOf(one);
  const list = (/** @type {string} */ state, /** @type {string} */ words) => h('a', { href: to(['deliveries'], { state, destination }) }, words);
  return h('p', { class: 'quiet' }, 'Due again is not yet delivered. See what is ', list('pending', 'still pending'), ' and what is ', list('dead', 'dead'),
    destination && [' of ', h('a', { href: to(['destinations', destination]) }, foreign(destination))], '.');
}

/**
 * The destination of a replay; null where it may have several.
 * @param {any} one
 * @returns {string | null}
 */
function destinationOf({ ids, filter, missing }) {
  const names = new Set((ids ?? []).map((/** @type {any} */ id) => id.destination));
  return ids ? (names.size === 1 ? [...names][0] : null) : ((filter ?? missing)?.destination ?? null);
}

/**
 * @param {any} one
 * @param {() => void} then
 */
function acts({ id, state }, then) {
  const act = (/** @type {string} */ verb, /** @type {string} */ title, /** @type {string} */ words) =>
    h('button', { type: 'button', 'data-key': verb, onclick: () => ask({
      title: `${title} replay ${id}`,
      words: h('p', null, words),
      confirm: title,
      act: async (given) => `Replay ${id} is ${(await post(below(['replays', id, verb]), given)).state}.`,
      then,
    }) }, `${title}…`);
  return [
    state === 'running' && act('pause', 'Pause', 'It makes nothing more due until somebody resumes it. What is due already goes on.'),
    state === 'paused' && act('resume', 'Resume', 'It goes on where it stood.'),
    (state === 'running' || state === 'paused') && act('cancel', 'End', 'It ends for good. What it has made due stays so.'),
  ];
}

/**
 * The deliveries of a replay that names few.
 * @param {any} one
 * @param {AbortSignal} signal
 */
async function deliveriesOf({ ids }, signal) {
  if (!ids || ids.length > FEW) return null;
  const pages = await Promise.all(ids.map((/** @type {any} */ { outbox_id: id, destination }) =>
    get(below(['deliveries'], { destination, first_outbox_id: id, last_outbox_id: id }), signal)));
  return pages.flatMap((page) => page.deliveries);
}

/**
 * The way to what the replay was about, among others: states and answers change by it, so a filter cannot tell its deliveries apart.
 * @param {any} one
 */
function surroundings({ filter, last_outbox_id }) {
  const query = queryOf({ last_outbox_id, ...filter });
  for (const name of ['state', 'reason', 'http_status']) query.delete(name);
  const words = inWords(query).replace('outbox row', 'row');
  return h('a', { href: to(['deliveries'], new URLSearchParams([...query, [LOOK, 'only']])) }, words[0].toUpperCase() + words.slice(1));
}
