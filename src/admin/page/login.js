// Logging in: a token, kept until the tab is closed.

import { h } from './dom.js';
import { heading } from './parts.js';

/**
 * @param {HTMLElement} main
 * @param {(token: string) => void} enter
 */
export function login(main, enter) {
  document.title = 'Log in – Aftercommit';
  const field = h('input', { id: 'token', type: 'password', required: true, autocomplete: 'current-password', spellcheck: 'false', 'aria-describedby': 'refused help' });
  const refused = h('p', { id: 'refused', class: 'bad', role: 'alert' });
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    const token = field.value.trim();
    // Nothing else can stand in a header.
    if (/^[\x21-\x7e]+$/.test(token)) enter(token);
    else refused.textContent = 'A token is printable ASCII without blanks.';
  };
  main.append(h('form', { class: 'login', onsubmit: submit },
    heading('Log in'),
    h('label', { for: 'token' }, 'Token'),
    field,
    refused,
    h('button', { type: 'submit', class: 'main' }, 'Log in'),
    h('p', { id: 'help', class: 'quiet' }, 'It stands in ', h('code', null, 'aftercommit.token'), ', which ', h('code', null, 'aftercommit init'),
      ' writes; ', h('code', null, 'aftercommit token create'), ' makes more. It is kept in this tab alone.')));
  field.focus();
}
