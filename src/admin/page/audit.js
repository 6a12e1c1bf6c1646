// Who changed what, when, why and from where, the newest first.

import { get } from './api.js';
import { LOOK, pager } from './deliveries.js';
import { h } from './dom.js';
import { selected } from './filter.js';
import { live } from './live.js';
import { foreign, heading, moment, nothing, prose, table, when } from './parts.js';
import { below, parameters, to } from './route.js';

const FIELDS = /** @type {[string, string][]} */ ([['actor', 'Who'], ['action', 'What'], ['subject', 'To what']]);
/** What people and the relay do. */
const ACTIONS = ['attach', 'cancel', 'create', 'detach', 'enqueue', 'mark-delivered', 'pause', 'replay', 'resume', 'retry-now', 'revoke', 'skip-head', 'test'];

/** @param {import('./main.js').Visit} visit */
export function audit({ main, query, signal }) {
  const region = h('div');
  const after = query.get('after');
  const filtered = FIELDS.some(([name]) => query.get(name));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const given = /** @type {[string, string][]} */ ([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));
    location.hash = to(['audit'], new URLSearchParams(given));
  };
  const form = h('form', { class: 'filter', role: 'search', 'aria-label': 'Filter', onsubmit: submit },
    h('div', { class: 'fields' }, FIELDS.map(([name, label]) =>
      h('label', null, h('span', null, label), h('input', { name, value: query.get(name), list: name === 'action' && 'actions', autocomplete: 'off', spellcheck: 'false' })))),
    h('div', { class: 'actions' }, h('button', { type: 'submit' }, 'Apply'), filtered && h('a', { href: to(['audit']) }, 'Clear filter')),
    h('datalist', { id: 'actions' }, ACTIONS.map((action) => h('option', { value: action }))));
  main.append(heading('Audit'), form, region);
  const wanted = parameters(new URLSearchParams([...query].filter(([name]) => name === 'after' || FIELDS.some(([field]) => field === name))));
  live(region, signal,
    () => get(below(['audit'], wanted), signal),
    ({ entries, next }) => [
      entries.length > 0 ? table('Audit', COLUMNS, entries, (entry) => entry.id) : nothing(filtered ? 'Nothing matches this filter.' : 'Nobody has changed anything yet.'),
      pager(['audit'], query, after, next),
    ]);
}

/** @type {{ name: string, cell: (entry: any) => import('./dom.js').Children, kind?: 'number' | 'short' | 'long' }[]} */
const COLUMNS = [
  { name: 'When', kind: 'short', cell: (entry) => [moment(entry.at), h('small', null, ' ', when(entry.at))] },
  { name: 'Who', kind: 'long', cell: (entry) => [foreign(entry.actor), entry.origin && entry.origin !== entry.actor && h('small', null, ' from ', foreign(entry.origin))] },
  { name: 'What', kind: 'short', cell: (entry) => foreign(entry.action) },
  { name: 'To what', kind: 'long', cell: subject },
  { name: 'Why', kind: 'long', cell: (entry) => [prose(entry.reason), entry.detail && h('small', null, ' ', foreign(inDetail(entry.detail)))] },
];

/**
 * What else there is to know: of deliveries that were settled by hand, which they were, in JSON.
 * @param {string} text
 */
function detailOf(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/**
 * The same in words.
 * @param {string} text
 */
function inDetail(text) {
  const { evidence, filter, all, ids, outbox_ids, blocked } = detailOf(text);
  const parts = [
    evidence && `evidence: ${evidence}`,
    filter && selected({ filter }),
    all && 'every delivery',
    ids && `${ids} named by their ids`,
    outbox_ids && `outbox rows ${outbox_ids.join(', ')}`,
    blocked && `so that outbox row ${blocked} can go`,
  ];
  return parts.filter(Boolean).join('; ') || text;
}

/** What is done to destinations, whose name is then the whole subject. */
const STEERED = ['pause', 'resume', 'test'];

/**
 * A subject, with the way to it.
 * @param {any} entry
 */
function subject({ action, subject: text, detail }) {
  const link = (/** @type {string} */ href) => h('a', { href }, foreign(text));
  const replay = /^replay (\d+)$/.exec(text);
  if (replay) return link(to(['replays', replay[1]]));
  const delivery = /^delivery (\d+) to (.+?)(?:, requested)?$/s.exec(text);
  if (delivery) return link(to(['deliveries', delivery[1], delivery[2]]));
  const several = /^\d+ deliveries to (.+?)(?:, (?:\d+ of them )?requested)?$/s.exec(text);
  if (!several) return STEERED.includes(action) ? link(to(['destinations', text])) : foreign(text);
  const { outbox_ids = [], first_outbox_id = outbox_ids[0], last_outbox_id = outbox_ids.at(-1) } = detailOf(detail ?? '');
  const [, destination] = several;
  return link(to(['deliveries'], { destination, first_outbox_id, last_outbox_id, [LOOK]: 'only' }));
}
