// One replay: how far it is, and pausing, resuming and ending it.

import { get, post } from './api.js';
import { ask } from './ask.js';
import { columns, LOOK } from './deliveries.js';
import { h } from './dom.js';
import { filterOf, inWords, queryOf, selected } from './filter.js';
import { count, counted, span } from './format.js';
import { live } from './live.js';
import { obstacles } from './needs.js';
import { by, chip, facts, foreign, heading, table, when } from './parts.js';
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
      const [one, states, status] = await Promise.all([get(below(['replays', id]), signal), get(below(['replays', id, 'states']), signal), get('/status', signal)]);
      return { one, states, status, few: await deliveriesOf(one, signal) };
    },
    ({ one, states, status, few }) => [
      progress(one, expected),
      one.requeued > 0 && afterwards(one, states),
      states.by_state.pending > 0 && obstacles(status, destinationOf(one), { then: operator && (() => void view.look()) }),
      operator && h('div', { class: 'actions', 'data-key': 'acts' }, acts(one, () => void view.look())),
      facts([
        ['What', foreign(selected(one))],
        ['Why', foreign(one.reason)],
        ['Asked for', [when(one.created_at), ' by ', by(one.requested_by)]],
        ['Ended', when(one.finished_at)],
        ['Key', one.key === 'new' ? 'a new one: receivers carry it out once more' : 'the same: receivers that honour it do nothing twice'],
        ['Rate', one.rate ? `${count(one.rate)} a second` : 'as fast as the limits allow'],
      ]),
      !one.ids && h('p', null, surroundings(one)),
      few && table('Its deliveries', columns(status.destinations), few, (row) => `${row.outbox_id} ${row.destination}`),
    ]);
}

/**
 * @param {any} one
 * @param {number | null} expected How many the dry run counted.
 */
function progress(one, expected) {
  const { state, requeued, left_alone, in_flight, skipped, rate, waits, missing } = one;
  const done = state === 'done';
  const again = missing ? '' : ' again';
  const under_way = state === 'running' || state === 'paused';
  const left = expected !== null && rate ? Math.max(0, expected - requeued) / rate : 0;
  return h('section', { class: 'standing', 'data-key': 'progress', 'aria-label': 'Progress' },
    h('p', null, replayChip(state), ' ', done ? counted(requeued, 'delivery was made', 'deliveries were made') : counted(requeued, 'delivery is', 'deliveries are'), ` due${again}`, expected !== null && !done && ` of about ${count(expected)}`, '.',
      state === 'running' && rate && ` It has begun, and makes ${count(rate)} due a second${left > 1 ? `: about ${span(left)} to go` : ''}.`),
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
    : h('progress', { max: expected, value: Math.min(requeued, expected), 'aria-label': 'Deliveries that are due' });
}

/**
 * What is due again has not arrived yet: what has become of it by now.
 * @param {any} one
 * @param {{ counted: 'named' | 'within', by_state: Record<string, number>, exact: boolean }} states
 */
function afterwards(one, { counted: whose, by_state: states, exact: all }) {
  const chips = Object.entries(states).filter(([, number]) => number > 0).map(([state, number]) => {
    const shown = chip(state, `${count(number)}${all ? '' : ' or more'} ${state}`);
    return [whose === 'named' ? shown : h('a', { href: to(['deliveries'], within(one, state)) }, shown), ' '];
  });
  const left = Object.values(states).reduce((sum, number) => sum + number, 0);
  const gone = all && whose === 'within' ? Math.max(0, one.requeued - left) : 0;
  return h('section', { 'data-key': 'afterwards', 'aria-label': 'What became of them' },
    h('h2', null, 'What became of them'),
    left > 0 && h('p', null, chips),
    whose === 'within' && h('p', { class: left > 0 && 'quiet' },
      left === 0 ? 'None of them is owed, dead or uncertain any more.'
        : ['These are owed, or have died or become uncertain since, within what it was about; others may be among them.',
          gone > 0 && ` At least ${count(gone)} of its ${counted(one.requeued, 'delivery has', 'deliveries have')} been delivered, or ended otherwise.`]));
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
 * The way to what the replay was about, among others.
 * @param {any} one
 */
function surroundings(one) {
  const words = inWords(filterOf(within(one))).replace('outbox row', 'row');
  return h('a', { href: to(['deliveries'], within(one)) }, words[0].toUpperCase() + words.slice(1));
}

/**
 * What the replay was about, in one state or in any: states and answers change by it, so a filter cannot tell its deliveries apart.
 * @param {any} one
 * @param {string} [state]
 */
function within({ filter, missing, last_outbox_id }, state) {
  const query = filterOf(queryOf({ last_outbox_id, ...filter, ...missing }));
  for (const name of ['state', 'reason', 'http_status']) query.delete(name);
  return new URLSearchParams([...(state ? [['state', state]] : []), ...query, [LOOK, 'only']]);
}
