// Who is at the page: the token, kept until the tab is closed, and what it allows.

/** @typedef {{ name: string, role: 'viewer' | 'operator' }} Session */

const PLACE = 'aftercommit.token';

/** The token, or nothing. */
export function token() {
  return sessionStorage.getItem(PLACE);
}

/** @param {string} text */
export function keepToken(text) {
  sessionStorage.setItem(PLACE, text);
}

/** Forgets the token; the page asks for one again. */
export function forgetToken() {
  sessionStorage.removeItem(PLACE);
}
