// What an operator can do with a destination. Each takes a reason.

import { post } from './api.js';
import { ask } from './ask.js';
import { begin, RETRY_NOW } from './bulk.js';
import { h } from './dom.js';
import { duration } from './format.js';
import { below } from './route.js';

/**
 * @param {any} one
 * @param {() => void} then
 */
export function steer({ name, configured, pause, owed }, then) {
  if (name === '') return null;
  const button = (/** @type {string} */ key, /** @type {string} */ title, /** @type {() => void} */ onclick) =>
    h('button', { type: 'button', 'data-key': key, 'aria-label': `${title} ${name}`, onclick }, `${title}…`);
  const act = (/** @type {string} */ verb, /** @type {string} */ title, /** @type {string} */ words, /** @type {(told: any) => string} */ done) => () => ask({
    title: `${title} ${name}`,
    words: h('p', null, words),
    confirm: title,
    act: async (given) => done(await post(below(['destinations', name, verb]), given)),
    then,
  });
  return [
    pause
      ? button('pause', 'Resume', act('resume', 'Resume', 'What is owed to it is sent again, within its limits.', () => `${name} goes on.`))
      : button('pause', 'Pause', act('pause', 'Pause', 'Nothing more is begun for it. What is owed is held, never dropped; what is on its way ends as it would.', () => `${name} is paused.`)),
    configured && button('test', 'Test', act('test', 'Test', 'Sends one harmless request: a signed ping to a webhook, a look at the account of a CRM.', tested)),
    owed > 0 && button('retry', 'Retry all now', () => void begin(RETRY_NOW, new URLSearchParams({ state: 'pending', destination: name }), then)),
  ];
}

/** @param {{ ok: boolean, sentence: string, http_status: number | null, duration_us: number }} told */
function tested({ ok, sentence, http_status, duration_us }) {
  const measured = [http_status && `HTTP ${http_status}`, duration(duration_us)].filter(Boolean).join(', ');
  return `${ok ? 'It works' : 'It does not work'}: ${sentence} (${measured})`;
}
