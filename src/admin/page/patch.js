// Live updates: makes what is shown equal to what was drawn anew, and touches nothing else. So focus, a selection of text,
// a half-filled field and an opened detail outlive every update.

import { nodes } from './dom.js';

/** @typedef {import('./dom.js').Children} Children */

/** The events that drawn elements listen to. */
const EVENTS = /** @type {const} */ (['onclick', 'onchange', 'oninput', 'onsubmit', 'ontoggle']);
/** What is the person's, once it is shown. */
const THEIRS = ['DETAILS open', 'INPUT value', 'INPUT checked', 'OPTION selected'];

/**
 * Lets `parent` hold these children. Elements with a `data-key` are recognised by it, others by their place.
 * @param {Element} parent
 * @param {Children} children
 */
export function patch(parent, children) {
  const wanted = nodes(children);
  const keys = new Set(wanted.map(keyOf));
  for (const old of [...parent.childNodes]) {
    if (keyOf(old) !== null && !keys.has(keyOf(old))) old.remove();
  }
  const known = new Map([...parent.childNodes].map((old) => [keyOf(old), old]));
  /** @type {ChildNode | null} */
  let at = parent.firstChild;
  for (const next of wanted) {
    const key = keyOf(next);
    const old = key === null ? at : (known.get(key) ?? null);
    if (old && alike(old, next)) {
      if (old === at) at = old.nextSibling;
      else parent.insertBefore(old, at);
      update(old, next);
    } else {
      parent.insertBefore(next, at);
    }
  }
  while (at) {
    const rest = at;
    at = at.nextSibling;
    rest.remove();
  }
}

/** @param {Node} node */
function keyOf(node) {
  return node instanceof Element ? node.getAttribute('data-key') : null;
}

/**
 * @param {Node} old
 * @param {Node} next
 */
function alike(old, next) {
  return old.nodeName === next.nodeName && keyOf(old) === keyOf(next);
}

/**
 * @param {Node} old
 * @param {Node} next
 */
function update(old, next) {
  if (!(old instanceof Element && next instanceof Element)) {
    if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
    return;
  }
  const ours = (/** @type {Attr} */ { name }) => !THEIRS.includes(`${old.nodeName} ${name}`);
  for (const { name } of [...old.attributes].filter(ours)) {
    if (!next.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of [...next.attributes].filter(ours)) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old instanceof HTMLElement && next instanceof HTMLElement) {
    for (const event of EVENTS) {
      if (old[event] !== next[event]) old[event] = /** @type {any} */ (next[event]);
    }
  }
  patch(old, [...next.childNodes]);
}
