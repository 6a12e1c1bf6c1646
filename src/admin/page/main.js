// The page: who is at it, where it is, and which view shows that.

import { get } from './api.js';
import { audit } from './audit.js';
import { deliveries } from './deliveries.js';
import { delivery } from './delivery.js';
import { destination } from './destination.js';
import { destinations } from './destinations.js';
import { h } from './dom.js';
import { live } from './live.js';
import { login } from './login.js';
import { newReplay } from './new_replay.js';
import { overview } from './overview.js';
import { heading, nothing, say } from './parts.js';
import { patch } from './patch.js';
import { replay } from './replay.js';
import { replays } from './replays.js';
import { here, to } from './route.js';
import { forgetToken, keepToken, token } from './session.js';
import { trouble } from './trouble.js';

/**
 * What a view is given.
 * @typedef {object} Visit
 * @property {string[]} path What stands behind the view's own name.
 * @property {URLSearchParams} query
 * @property {boolean} operator Whether who is here may change something.
 * @property {AbortSignal} signal Ends when the view is left.
 * @property {HTMLElement} main Where the view draws.
 */

/** @type {[string, string][]} */
const NAV = [
  ['', 'Overview'],
  ['trouble', 'Trouble'],
  ['deliveries', 'Deliveries'],
  ['destinations', 'Destinations'],
  ['replays', 'Replays'],
  ['audit', 'Audit'],
];

const main = part('main');
let leave = new AbortController();
/** Whether no view has been shown since the page was loaded: then the keyboard begins before the navigation. */
let fresh = true;
/** @type {import('./session.js').Session | null} */
let session = null;

/**
 * The view of a path.
 * @param {string[]} path
 * @returns {(visit: Visit) => void}
 */
function viewOf([name = '', first, ...rest]) {
  switch (name) {
    case '': return overview;
    case 'trouble': return trouble;
    case 'deliveries': return first ? delivery : deliveries;
    case 'destinations': return first ? destination : destinations;
    case 'replays': return first === 'new' ? newReplay : first && !rest.length ? replay : replays;
    case 'audit': return audit;
    default: return missing;
  }
}

/** @param {Visit} visit */
function missing({ main }) {
  main.append(heading('Not found'), nothing('There is no such view. ', h('a', { href: to([]) }, 'Back to the overview')));
}

/** Shows what the address names. */
function show() {
  leave.abort();
  leave = new AbortController();
  say(null);
  main.replaceChildren();
  if (!token()) {
    session = null;
    fresh = false;
    frame(null);
    login(main, (given) => (keepToken(given), show()));
    return;
  }
  if (!session) {
    frame(null);
    live(main, leave.signal, () => get('/session'), (told) => {
      session = told;
      queueMicrotask(show);
      return [];
    });
    return;
  }
  const { path, query } = here();
  frame(path[0] ?? '');
  const visit = { path: path.slice(1), query, operator: session.role === 'operator', signal: leave.signal, main };
  viewOf(path)(visit);
  const title = main.querySelector('h1');
  document.title = `${title?.textContent ?? 'Aftercommit'} – Aftercommit`;
  if (!fresh) title?.focus({ preventScroll: true });
  fresh = false;
  scrollTo(0, 0);
}

/**
 * What surrounds every view.
 * @param {string | null} current The first word of the address; null while nobody is logged in.
 */
function frame(current) {
  patch(part('nav'), current !== null && NAV.map(([name, title]) =>
    h('a', { href: to(name ? [name] : []), 'aria-current': current === name && 'page' }, title)));
  patch(part('who'), session && current !== null && [
    h('span', null, session.name, ' ', h('small', null, session.role)),
    h('button', { type: 'button', class: 'plain', onclick: () => (forgetToken(), show()) }, 'Log out'),
  ]);
}

/** @param {string} id */
function part(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

part('skip').onclick = (event) => {
  // The address names the view: a jump within it would lose that.
  event.preventDefault();
  main.querySelector('h1')?.focus();
};
window.addEventListener('hashchange', show);
window.addEventListener('refused', () => {
  show();
  patch(part('refused'), 'This token is not accepted. It may have been revoked, or mistyped.');
});
show();
