// What an operator can do with one delivery. The API says which acts apply to it; each takes a reason.

import { post } from './api.js';
import { ask } from './ask.js';
import { told } from './bulk.js';
import { h } from './dom.js';
import { foreign, lasting } from './parts.js';
import { below, to } from './route.js';
import { because } from './words.js';

/**
 * @typedef {object} Verb
 * @property {string} title
 * @property {(detail: any) => import('./dom.js').Children} words What will happen.
 * @property {string} [evidence]
 * @property {string} [ends] What confirming says, where a delivery ends unsent.
 * @property {(detail: any) => Record<string, unknown>} [more] What else the request says.
 */

/** @type {Record<string, Verb>} */
const VERBS = {
  'retry-now': { title: 'Retry now', words: () => 'It is due at once, under the same key. The attempts that it has had still count.' },
  'skip-head': { title: 'Skip what is ahead', words: ahead, ends: 'End the older one', more: ({ head }) => ({ head: head.outbox_id }) },
  'mark-delivered': { title: 'Mark delivered', words: () => 'It counts as delivered, and is not sent. Look at the receiver first.', evidence: 'How do you know that it arrived?' },
  cancel: { title: 'Cancel delivery', words: () => 'It ends, and is not sent. If an attempt is on its way, that may still arrive.', ends: 'End this delivery' },
};

/** Where a replay is what most people come for; elsewhere it sends what nobody misses. */
const TROUBLED = ['dead', 'uncertain'];

/**
 * @param {any} detail
 * @param {() => void} then
 */
export function acts(detail, then) {
  return detail.actions.map((/** @type {string} */ action) => (action === 'replay' ? replay(detail) : button(action, detail, then)));
}

/**
 * A sentence of the server with the buttons before the commands that do the same.
 * @param {string} text
 * @param {any} detail
 */
export function withButtons(text, { outbox_id, destination, actions }) {
  return text.replace(/`aftercommit ([a-z-]+) (\S+?)( [^`]*)?`/g, (command, action, id) => {
    const here = id === `${outbox_id}:${destination}` && actions.includes(action);
    return here ? `“${action === 'replay' ? 'Replay' : VERBS[action].title}…” below or ${command}` : command;
  });
}

/** @param {any} detail */
function replay({ outbox_id, destination, state }) {
  return h('a', { class: TROUBLED.includes(state) ? 'button main' : 'button', 'data-key': 'replay', href: to(['replays', 'new'], { id: `${outbox_id}:${destination}` }) }, 'Replay…');
}

/**
 * @param {string} action
 * @param {any} detail
 * @param {() => void} then
 */
function button(action, detail, then) {
  const { title, words, evidence, ends, more } = VERBS[action];
  const path = below(['deliveries', detail.outbox_id, detail.destination, action]);
  const begin = () => ask({
    title: ends ?? title,
    words: h('p', null, words(detail)),
    confirm: ends ?? title,
    danger: ends !== undefined,
    evidence,
    act: async (given) => `${title}: ${told(await post(path, { ...given, ...more?.(detail) }))}.`,
    then,
  });
  return h('button', { type: 'button', 'data-key': action, onclick: begin }, `${title}…`);
}

/**
 * What stands first, and ends.
 * @param {any} detail
 */
function ahead({ head }) {
  const row = h('a', { href: to(['deliveries', head.outbox_id, head.destination]) }, 'Outbox row ', head.outbox_id, ' to ', foreign(head.destination));
  return [
    row, ` stands first of this row key: ${head.state} for `, lasting(head.settled_at ?? head.owed_at), head.reason && `, since ${because(head.reason)}`,
    `. It ends, and is not sent${head.attempts > 0 ? ' again' : ''}, so that what waits behind it can go.`,
  ];
}
