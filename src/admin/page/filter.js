// A filter of deliveries: the same in the address, in the form, in the API's query and in its bodies.

import { h } from './dom.js';
import { exact } from './format.js';
import { chip } from './parts.js';
import { parameters } from './route.js';
import { because, REASONS, STATES } from './words.js';

/** What a filter may hold, as the API's query names it. */
export const FIELDS = ['state', 'destination', 'topic', 'row_key', 'reason', 'http_status', 'since', 'until', 'first_outbox_id', 'last_outbox_id'];
const NUMBERS = ['http_status', 'first_outbox_id', 'last_outbox_id'];
const TIMES = ['since', 'until'];

/**
 * The part of an address that is a filter.
 * @param {URLSearchParams} query
 */
export function filterOf(query) {
  return parameters(new URLSearchParams([...query].filter(([name]) => FIELDS.includes(name))));
}

/**
 * The filter as bodies have it.
 * @param {URLSearchParams} filter
 */
export function bodyOf(filter) {
  /** @type {Record<string, unknown>} */
  const body = {};
  for (const [name, value] of filter) {
    if (name !== 'state') body[name] = NUMBERS.includes(name) ? Number(value) : value;
  }
  const states = filter.getAll('state');
  return states.length > 0 ? { states, ...body } : body;
}

/**
 * What a request for a replay selects.
 * @param {URLSearchParams} query
 */
export function selectionOf(query) {
  const ids = query.getAll('id').map((id) => {
    const [, outbox_id, destination] = /^(\d+):(.*)$/s.exec(id) ?? ['', '0', ''];
    return { outbox_id: Number(outbox_id), destination };
  });
  if (ids.length > 0) return { ids };
  const filter = bodyOf(filterOf(query));
  return query.has('missing') ? { missing: filter } : { filter };
}

/**
 * What a replay selects, in words.
 * @param {any} selection
 */
export function selected({ ids, filter, all, missing }) {
  if (ids) return ids.slice(0, 3).map((/** @type {any} */ id) => `outbox row ${id.outbox_id} to ${id.destination}`).join(', ') + (ids.length > 3 ? ` and ${ids.length - 3} more` : '');
  if (missing) return inWords(queryOf(missing)).replace('all deliveries', 'rows that were never owed');
  return all ? 'every delivery' : inWords(queryOf(filter ?? {}));
}

/**
 * A filter of a body as the query has it.
 * @param {Record<string, any>} body
 */
export function queryOf({ states = [], ...rest }) {
  return parameters({ state: states, ...rest });
}

/**
 * The filter in words.
 * @param {URLSearchParams} filter
 */
export function inWords(filter) {
  const one = (/** @type {string} */ name, /** @type {(value: string) => string} */ say) => (filter.has(name) ? [say(filter.get(name) ?? '')] : []);
  const parts = [
    `${filter.getAll('state').join(' or ') || 'all'} deliveries`,
    ...one('destination', (value) => `to ${value}`),
    ...one('topic', (value) => `of the topic ${value}`),
    ...one('row_key', (value) => `of the row ${value}`),
    ...one('http_status', (value) => `last answered ${value}`),
    ...one('since', (value) => `written since ${exact(value)}`),
    ...one('until', (value) => `written before ${exact(value)}`),
    ...one('first_outbox_id', (value) => `from outbox row ${value}`),
    ...one('last_outbox_id', (value) => `up to outbox row ${value}`),
    ...one('reason', (value) => `(${because(value)})`),
  ];
  return parts.join(' ');
}

/**
 * The form. It says each change.
 * @param {URLSearchParams} filter
 * @param {string[]} destinations Their names.
 * @param {(filter: URLSearchParams) => void} changed
 */
export function filterForm(filter, destinations, changed) {
  const field = (/** @type {string} */ name, /** @type {string} */ label, /** @type {Record<string, unknown>} */ more = {}) =>
    h('label', null, h('span', null, label), h('input', { name, value: shown(name, filter.get(name)), autocomplete: 'off', spellcheck: 'false', ...more }));
  const read = () => {
    const given = [...new FormData(form)].map(([name, value]) => [name, meant(name, String(value).trim())]);
    changed(parameters(new URLSearchParams(given)));
  };
  const near = ['destination', 'topic', 'row_key', 'reason', 'http_status'];
  const far = ['since', 'until', 'first_outbox_id', 'last_outbox_id'];
  const set = (/** @type {string[]} */ names) => names.some((name) => filter.has(name));
  // A phone has room for the states, and for the list.
  const roomy = matchMedia('(min-width: 48rem)').matches;
  const form = h('form', { class: 'filter', role: 'search', 'aria-label': 'Filter', onchange: read, onsubmit: (/** @type {Event} */ event) => (event.preventDefault(), read()) },
    h('fieldset', null, h('legend', null, 'State'), STATES.map((state) =>
      h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'state', value: state, checked: filter.getAll('state').includes(state) }), chip(state)))),
    h('details', { open: roomy || set(near) },
      h('summary', null, 'Destination, row, reason and answer'),
      h('div', { class: 'fields' },
        field('destination', 'Destination', { list: 'destinations' }),
        field('topic', 'Topic'),
        field('row_key', 'Row key'),
        h('label', null, h('span', null, 'Reason'), h('select', { name: 'reason' }, h('option', { value: '' }, 'any'),
          Object.entries(REASONS).map(([word]) => h('option', { value: word, selected: filter.get('reason') === word }, because(word))))),
        field('http_status', 'Last HTTP status', { inputmode: 'numeric', pattern: '[1-5][0-9][0-9]' }))),
    h('details', { open: set(far) },
      h('summary', null, 'Times and outbox ids'),
      h('div', { class: 'fields' },
        field('since', 'Written since (UTC)', { type: 'datetime-local' }),
        field('until', 'Written before (UTC)', { type: 'datetime-local' }),
        field('first_outbox_id', 'From outbox row', { inputmode: 'numeric', pattern: '[0-9]+' }),
        field('last_outbox_id', 'Up to outbox row', { inputmode: 'numeric', pattern: '[0-9]+' }))),
    h('button', { type: 'submit' }, 'Apply'),
    h('datalist', { id: 'destinations' }, destinations.map((name) => h('option', { value: name }))));
  return form;
}

/**
 * A value as its field shows it.
 * @param {string} name
 * @param {string | null} value
 */
function shown(name, value) {
  return value !== null && TIMES.includes(name) ? value.slice(0, 16) : value;
}

/**
 * What a field means.
 * @param {string} name
 * @param {string} value
 */
function meant(name, value) {
  return value !== '' && TIMES.includes(name) ? `${value}:00Z` : value;
}
