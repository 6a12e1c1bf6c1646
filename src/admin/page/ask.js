// Asks for a reason before something is changed. Whatever is changed goes on record with it.

import { Problem } from './api.js';
import { h } from './dom.js';
import { problemBox, say } from './parts.js';
import { patch } from './patch.js';

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {import('./dom.js').Children} words What will happen.
 * @property {string} confirm What the button says.
 * @property {boolean} [danger] Whether something ends by it that does not come back by itself.
 * @property {boolean} [idle] Whether nothing would change: then it cannot be confirmed.
 * @property {string} [evidence] The label of a second field, where evidence is wanted.
 * @property {(given: { reason: string, evidence?: string }, course: Course) => Promise<string | import('./parts.js').Said | null>} act Brings what was done, in a sentence; nothing where the view says it.
 * @property {() => void} [then] Looks again: things may have changed while it was asked.
 */

/**
 * @typedef {object} Course An act that takes several requests.
 * @property {(sentence: string) => void} tell Says how far it is.
 * @property {() => boolean} stopped Whether it shall go no further.
 */

/** @param {Question} question */
export function ask(question) {
  const reason = h('input', { id: 'reason', required: true, maxlength: 1000, autocomplete: 'off' });
  const evidence = question.evidence ? h('input', { id: 'evidence', required: true, maxlength: 4000, autocomplete: 'off' }) : null;
  const trouble = h('div', { role: 'alert' });
  const progress = h('p', { class: 'quiet', role: 'status' });
  const leave = h('button', { type: 'button', onclick: () => dialog.close() }, 'Leave it');
  /** @type {Course} */
  const course = {
    tell: (sentence) => (patch(progress, sentence), patch(leave, 'Stop')),
    stopped: () => !dialog.open,
  };
  const confirm = h('button', { type: 'submit', class: question.danger ? 'danger' : 'main', disabled: question.idle }, question.confirm);
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    confirm.disabled = true;
    patch(trouble, null);
    try {
      const done = await question.act({ reason: reason.value, ...(evidence && { evidence: evidence.value }) }, course);
      // Whoever has stopped it has closed it, and looked, before it was done.
      if (dialog.open) dialog.close();
      else question.then?.();
      if (done) say(typeof done === 'string' ? { kind: 'good', sentence: done } : done);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      patch(trouble, problemBox(error));
    } finally {
      confirm.disabled = false;
    }
  };
  const dialog = h('dialog', { 'aria-labelledby': 'question' },
    h('form', { onsubmit: submit },
      h('h2', { id: 'question' }, question.title),
      h('div', { class: 'words' }, question.words),
      evidence && !question.idle && [h('label', { for: 'evidence' }, question.evidence), evidence],
      !question.idle && [h('label', { for: 'reason' }, 'Reason, for the audit'), reason],
      progress,
      trouble,
      h('div', { class: 'actions' }, leave, confirm)));
  dialog.addEventListener('close', () => (dialog.remove(), question.then?.()));
  window.addEventListener('hashchange', () => dialog.close(), { once: true });
  document.body.append(dialog);
  dialog.showModal();
  (question.idle ? leave : evidence ?? reason).focus();
}
