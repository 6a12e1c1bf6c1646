// One delivery: where it stands, what comes next, what is sent, and every attempt.

import { get, Problem } from './api.js';
import { acts, withButtons } from './acts.js';
import { attempts } from './attempts.js';
import { h } from './dom.js';
import { count, size } from './format.js';
import { live } from './live.js';
import { block, chip, facts, foreign, heading, problemBox, prose, when } from './parts.js';
import { below, to } from './route.js';
import { because } from './words.js';

/** @param {import('./main.js').Visit} visit */
export function delivery({ main, path: [id, destination = ''], operator, signal }) {
  const region = h('div');
  const opened = /** @type {Set<string>} */ (new Set());
  main.append(heading(['Outbox row ', id, ' to ', destination ? h('a', { href: to(['destinations', destination]) }, foreign(destination)) : 'no route']), region);
  /** @type {{ epoch: number, request: any } | null} */
  let sent = null;
  /** @type {import('./live.js').Live} */
  const view = live(region, signal, async () => {
    const [detail, doctor] = await Promise.all([
      get(below(['deliveries', id, destination]), signal),
      orProblem(get(below(['doctor', id]), signal)),
    ]);
    // What is sent changes only with the key.
    const known = sent && sent.epoch === detail.key_epoch ? sent
      : { epoch: detail.key_epoch, request: await orProblem(get(below(['deliveries', id, destination, 'request']), signal)) };
    sent = known;
    const findings = doctor instanceof Problem ? [] : (doctor.deliveries.find((/** @type {any} */ one) => one.destination === destination)?.findings ?? []);
    return { detail, request: known.request, findings };
  }, ({ detail, request, findings }) => [
    standing(detail, findings, operator),
    operator && h('div', { class: 'actions', 'data-key': 'acts' }, acts(detail, () => void view.look())),
    about(detail),
    h('section', { 'data-key': 'attempts' }, h('h2', null, 'Attempts'), attempts(detail, opened, view.redraw)),
    asSent(detail, request, opened, view.redraw),
  ]);
}

/**
 * What comes next is the first of the findings: it is said once, and the rest below it.
 * @param {any} detail
 * @param {{ sentence: string, way_out: string | null }[]} findings
 * @param {boolean} operator Whether there are buttons.
 */
function standing(detail, [first, ...rest], operator) {
  const { state, reason, next, settled_at } = detail;
  const pending = state === 'pending';
  const headline = first?.sentence ?? next?.sentence;
  const wayOut = (/** @type {{ way_out: string | null } | undefined} */ found) => found?.way_out
    && h('span', { class: 'quiet' }, ' ', prose(capital(operator ? withButtons(found.way_out, detail) : found.way_out)), '.');
  return h('section', { class: 'standing', 'data-key': 'standing', 'aria-label': 'Where it stands' },
    h('p', null, chip(state), ' ', !pending && !headline && [because(reason), ', ', when(settled_at)]),
    headline && h('p', { class: 'next' }, prose(headline), '.'),
    first?.way_out && h('p', null, wayOut(first)),
    rest.length > 0 && h('ul', null, rest.map((found) => h('li', null, prose(found.sentence), '.', wayOut(found)))));
}

/**
 * A sentence from its beginning; a command keeps its letters.
 * @param {string} text
 */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** @param {any} detail */
function about(detail) {
  return facts([
    ['Topic', h('a', { href: to(['deliveries'], { topic: detail.topic }) }, foreign(detail.topic))],
    ['Row key', h('a', { href: to(['deliveries'], { topic: detail.topic, row_key: detail.row_key }) }, foreign(detail.row_key))],
    ['Op', detail.op],
    ['Version', detail.row_version ?? 'none given'],
    ['Written', when(detail.created_at)],
    ['Payload', size(detail.payload_bytes)],
    ['Attempts', count(detail.attempts)],
    ['Key', detail.idempotency_key ? h('code', null, detail.idempotency_key) : foreign(detail.not_canonical)],
  ]);
}

/**
 * @param {any} detail
 * @param {any} request
 * @param {Set<string>} opened
 * @param {() => void} redraw
 */
function asSent(detail, request, opened, redraw) {
  const payload = () => block('Payload as it was written', detail.payload, opened, redraw);
  if (request instanceof Problem) {
    return h('section', { 'data-key': 'request' }, h('h2', null, 'Request'), problemBox(request), h('h3', null, 'Payload as it was written'), payload());
  }
  const other = request.body !== detail.payload;
  const keyed = sameKey(request.headers, detail.idempotency_key);
  return h('section', { 'data-key': 'request' },
    h('h2', null, 'Request'),
    h('p', { class: 'quiet' }, 'Every attempt says the same of this row, under the same key. Where several rows share a request, this is its part. Secrets are left out.'),
    h('p', { class: 'line' }, h('code', null, request.method, ' ', foreign(request.url))),
    h('table', { class: 'headers', 'aria-label': 'Headers' }, h('tbody', null, request.headers.map((/** @type {string[]} */ [name, value]) =>
      h('tr', null, h('th', { scope: 'row' }, foreign(name)), h('td', null, foreign(value)))))),
    keyed && h('p', { class: 'quiet' }, h('code', null, keyed), ' is made of the digits of the key above, in the form that this destination is sent.'),
    request.body === null || request.body === '' ? h('p', { class: 'quiet' }, 'It has no body.')
      : [h('h3', null, 'Body as sent'), block('Body as sent', request.body, opened, redraw)],
    other && h('details', null, h('summary', null, 'Payload as it was written'), payload()));
}

/**
 * The header that has the key in another form, if one has: quoted, shorter, longer, or as a UUID.
 * @param {[string, string][]} headers
 * @param {string | null} key
 */
function sameKey(headers, key) {
  const digits = key?.replace('ac1-', '').slice(0, 12);
  const found = headers.find(([, value]) => digits && value !== key && value.replace(/^"?(ac1-)?/, '').replaceAll('-', '').startsWith(digits));
  return found?.[0];
}

/**
 * What came, or why it did not: the rest of the view does not depend on it.
 * @template T
 * @param {Promise<T>} asked
 * @returns {Promise<T | Problem>}
 */
function orProblem(asked) {
  return asked.catch((error) => {
    if (error instanceof Problem && error.status !== 0) return error;
    throw error;
  });
}
