// The timeline of a delivery's attempts, the newest first.

import { h } from './dom.js';
import { counted, duration } from './format.js';
import { icon } from './icon.js';
import { block, nothing, prose, when } from './parts.js';
import { answered, met } from './words.js';

const SHOWN = 20;
const ALL = 'all attempts';
/** @type {Record<string, import('./icon.js').Shape>} */
const ICONS = { accepted: 'delivered', throttled: 'pending', refused: 'dead', unreachable: 'failing', unknown: 'uncertain' };

/**
 * @param {any} detail
 * @param {Set<string>} opened
 * @param {() => void} redraw
 */
export function attempts({ history, in_flight_since, idempotency_key }, opened, redraw) {
  if (history.length === 0 && !in_flight_since) return nothing('There was no attempt yet.');
  const newest = [...history].reverse();
  const shown = opened.has(ALL) ? newest : newest.slice(0, SHOWN);
  return [
    h('ol', { class: 'timeline', reversed: true },
      in_flight_since && h('li', { class: 'flight', 'data-key': 'flight' }, icon('running'), h('div', null, h('strong', null, 'On its way'), ', since ', when(in_flight_since))),
      shown.map((attempt) => one(attempt, idempotency_key, opened, redraw))),
    shown.length < newest.length && h('button', { type: 'button', onclick: () => (opened.add(ALL), redraw()) }, `Show all ${counted(newest.length, 'attempt', 'attempts')}`),
  ];
}

/**
 * @param {any} attempt
 * @param {string} key The key now.
 * @param {Set<string>} opened
 * @param {() => void} redraw
 */
function one(attempt, key, opened, redraw) {
  const { number, key_epoch, outcome, http_status, started_at, duration_us, detail, excerpt } = attempt;
  return h('li', { class: outcome, 'data-key': `${key_epoch} ${number}` },
    icon(ICONS[outcome] ?? 'uncertain'),
    h('div', null,
      h('p', null, h('strong', null, met(outcome, http_status)), http_status && [' · ', h('span', { class: 'status' }, outcome === 'accepted' ? `HTTP ${http_status}` : answered(http_status))]),
      h('p', { class: 'quiet' }, `attempt ${number} · `, when(started_at), ` · took ${duration(duration_us)}`),
      detail && detail !== `HTTP ${http_status}` && h('p', null, prose(detail)),
      excerpt && block(`Answer to attempt ${number}`, excerpt, opened, redraw),
      attempt.key && attempt.key !== key && h('p', { class: 'quiet' }, 'key ', h('code', null, attempt.key))));
}
