// What an operator can do with a destination. Each takes a reason.

import { now, post } from './api.js';
import { ask } from './ask.js';
import { begin, RETRY_NOW } from './bulk.js';
import { h } from './dom.js';
import { duration, exact } from './format.js';
import { say } from './parts.js';
import { below } from './route.js';
import { waitsFor } from './waits.js';

/**
 * @param {any} one
 * @param {() => void} then
 * @param {(told: import('./parts.js').Said) => void} [tell] Keeps what a test came to.
 */
export function steer(one, then, tell = say) {
  const { name, configured, pause, owed } = one;
  if (name === '') return null;
  return [
    pause ? resume({ name }, then)
      : button('pause', 'Pause', name, act(name, 'Pause', 'Nothing more is begun for it. What is owed is held, never dropped; what is on its way ends as it would.', () => `${name} is paused.`, then)),
    configured && button('test', 'Test', name, act(name, 'Test', trial(one.kind), (told) => (tell(tested(name, told)), null), then)),
    owed > 0 && button('retry', 'Retry all now', name, () => void begin(RETRY_NOW, new URLSearchParams({ state: 'pending', destination: name }), then, keeps(one))),
  ];
}

/**
 * What keeps the deliveries of a destination though they are due.
 * @param {any} one
 */
function keeps(one) {
  const words = waitsFor(one);
  return words && `What is owed to ${one.name} ${words.replace(/^held/, 'is held')}.`;
}

/**
 * Lets a paused destination go on.
 * @param {{ name: string }} one
 * @param {() => void} then
 */
export function resume({ name }, then) {
  return button('pause', 'Resume', name, act(name, 'Resume', 'What is owed to it is sent again, within its limits.', () => `${name} goes on.`, then));
}

/**
 * @param {string} key
 * @param {string} title
 * @param {string} name
 * @param {() => void} onclick
 */
function button(key, title, name, onclick) {
  return h('button', { type: 'button', 'data-key': key, 'aria-label': `${title} ${name}`, onclick }, `${title}…`);
}

/**
 * @param {string} name
 * @param {string} title The verb.
 * @param {string} words
 * @param {(told: any) => string | null} done
 * @param {() => void} then
 */
function act(name, title, words, done, then) {
  return () => ask({
    title: `${title} ${name}`,
    words: h('p', null, words),
    confirm: title,
    act: async (given) => done(await post(below(['destinations', name, title.toLowerCase()]), given)),
    then,
  });
}

/**
 * What a test does to this kind of destination.
 * @param {string} kind
 */
function trial(kind) {
  return kind === 'webhook' ? 'Sends one ping, a request like any other that is about no row.' : 'Logs in and looks at the account. Nothing is written there.';
}

/**
 * What a test came to. It says when: it stays to be read while things change.
 * @param {string} name
 * @param {{ ok: boolean, sentence: string, duration_us: number }} told
 * @returns {import('./parts.js').Said}
 */
function tested(name, { ok, sentence, duration_us }) {
  const at = exact(new Date(now()).toISOString().replace(/\.\d+/, ''));
  return { kind: ok ? 'good' : 'bad', sentence: `At ${at}, ${name} ${ok ? 'worked' : 'did not work'}: ${sentence} (${duration(duration_us)})` };
}
