// What an operator can do with one delivery. Each takes a reason.

import { post } from './api.js';
import { ask } from './ask.js';
import { told } from './bulk.js';
import { h } from './dom.js';
import { below, to } from './route.js';

/** @typedef {{ verb: string, title: string, words: string, evidence?: string, ends?: string }} Verb `ends`: what confirming says, where a delivery ends unsent. */

/** @type {Record<string, Verb>} */
const VERBS = {
  retry: { verb: 'retry-now', title: 'Retry now', words: 'It is due at once, under the same key. The attempts that it has had still count.' },
  skip: { verb: 'skip-head', title: 'Skip what is ahead', words: 'Ends the older delivery of this row that this one waits behind, so that this one can go.', ends: 'End the older one' },
  cancel: { verb: 'cancel', title: 'Cancel', words: 'It ends, and is not sent. If an attempt is on its way, that may still arrive.', ends: 'End this delivery' },
  mark: { verb: 'mark-delivered', title: 'Mark delivered', words: 'It counts as delivered, and is not sent. Look at the receiver first.', evidence: 'How do you know that it arrived?' },
};

/** @type {Record<string, Verb[]>} */
const OF_STATE = {
  pending: [VERBS.retry, VERBS.skip, VERBS.cancel],
  uncertain: [VERBS.mark, VERBS.cancel],
  dead: [VERBS.mark],
};

/** The findings by which an older delivery of the same row key stands before this one, as `store/admin/doctor/pending.rs` words them. */
const BLOCKED = /its row key is held by|it waits behind|an older version of the row, /;

/** Where a replay is what most people come for; elsewhere it sends what nobody misses. */
const TROUBLED = ['dead', 'uncertain'];

/**
 * @param {any} detail
 * @param {{ sentence: string }[]} findings What is known of it.
 * @param {() => void} then
 */
export function acts({ outbox_id, destination, state }, findings, then) {
  const blocked = findings.some(({ sentence }) => BLOCKED.test(sentence));
  const verbs = (OF_STATE[state] ?? []).filter((verb) => verb !== VERBS.skip || blocked);
  const begin = (/** @type {Verb} */ { verb, title, words, evidence, ends }) => ask({
    title: ends ?? title,
    words: h('p', null, words),
    confirm: ends ?? title,
    ...(ends && { danger: true, leave: 'Keep' }),
    evidence,
    act: async (given) => `${title}: ${told(await post(below(['deliveries', outbox_id, destination, verb]), given))}.`,
    then,
  });
  return [
    state !== 'pending' && h('a', { class: TROUBLED.includes(state) ? 'button main' : 'button', 'data-key': 'replay', href: to(['replays', 'new'], { id: `${outbox_id}:${destination}` }) }, 'Replay…'),
    verbs.map((verb) => h('button', { type: 'button', 'data-key': verb.verb, onclick: () => begin(verb) }, `${verb.title}…`)),
  ];
}
