// What needs a person: deliveries that are dead or uncertain, by destination and reason, each group with its way out.

import { get } from './api.js';
import { begin, MARK_DELIVERED } from './bulk.js';
import { h } from './dom.js';
import { counted } from './format.js';
import { live } from './live.js';
import { needs } from './needs.js';
import { block, chip, facts, foreign, heading, nothing, prose, when } from './parts.js';
import { to } from './route.js';
import { answered, because } from './words.js';

/** @param {import('./main.js').Visit} visit */
export function trouble({ main, query, operator, signal }) {
  const region = h('div');
  const opened = /** @type {Set<string>} */ (new Set());
  const of = query.get('destination');
  main.append(heading('Trouble', of !== null && ['only of ', foreign(of), ' · ', h('a', { href: to(['trouble']) }, 'Show all')]), region);
  const view = live(region, signal,
    async () => {
      const [{ groups }, status] = await Promise.all([get('/trouble', signal), get('/status', signal)]);
      const wanted = (/** @type {string} */ name) => of === null || name === of;
      return {
        groups: groups.filter((/** @type {any} */ group) => wanted(group.destination)),
        status: of === null ? status : { ...status, destinations: status.destinations.filter((/** @type {any} */ one) => wanted(one.name)), unrouted_topics: [] },
      };
    },
    ({ groups, status }) => {
      const others = { ...status, destinations: status.destinations.map((/** @type {any} */ one) => ({ ...one, settled: { dead: 0, uncertain: 0 } })) };
      const stuck = needs(others, { then: operator && (() => void view.look()) });
      return [
        (groups.length === 0 || !stuck.classList.contains('good')) && stuck,
        groups.length === 0 ? nothing('No delivery is dead or uncertain.')
          : h('ul', { class: 'rows' }, groups.map((/** @type {any} */ group) => card(group, operator, opened, view))),
      ];
    });
}

/**
 * @param {any} group
 * @param {boolean} operator
 * @param {Set<string>} opened
 * @param {import('./live.js').Live} view
 */
function card({ destination, state, reason, count: number, oldest, example }, operator, opened, view) {
  const filter = new URLSearchParams({ state, destination, reason });
  const label = `Answer to the example of ${destination}, ${reason}`;
  const about = `${counted(number, 'delivery', 'deliveries')} to ${destination}, ${because(reason)}`;
  return h('li', { class: 'row group', 'data-key': `${destination} ${state} ${reason}` },
    h('div', null,
      h('h2', null, h('a', { href: to(['deliveries'], filter) }, counted(number, 'delivery', 'deliveries')), ' to ', h('a', { href: to(['destinations', destination]) }, foreign(destination))),
      h('p', null, chip(state), ' ', because(reason)),
      operator && h('div', { class: 'actions' },
        h('a', { class: 'button main', href: to(['replays', 'new'], filter), 'aria-label': `Replay… ${about}` }, 'Replay…'),
        state === 'uncertain' && h('button', { type: 'button', 'aria-label': `Mark delivered… ${about}`, onclick: () => void begin(MARK_DELIVERED, filter, () => void view.look()) }, 'Mark delivered…'))),
    h('div', null,
      facts([
        ['Oldest', oldest && [row(oldest, destination), ', ', when(oldest.at)]],
        ['Example', example && [row(example, destination), example.http_status && `, ${answered(example.http_status)}`, example.attempts > 1 && `, after ${example.attempts} attempts`]],
      ]),
      example?.detail && example.detail !== `HTTP ${example.http_status}` && h('p', null, prose(example.detail)),
      example?.excerpt && block(label, example.excerpt, opened, view.redraw)));
}

/**
 * @param {any} row
 * @param {string} destination
 */
function row({ outbox_id, topic, row_key }, destination) {
  return h('a', { href: to(['deliveries', outbox_id, destination]) }, foreign(topic), ' / ', foreign(row_key));
}
