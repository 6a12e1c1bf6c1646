// What every view is made of: states, times, foreign text, and the words for nothing, waiting and failure.

import { now } from './api.js';
import { h, nodes } from './dom.js';
import { exact, relative, size, span, visible } from './format.js';
import { icon } from './icon.js';

/** @typedef {import('./dom.js').Children} Children */

/** Characters of a large text that are shown until somebody wants all. */
const SHOWN = 65_536;

/**
 * A state, told by shape and word.
 * @param {string} state
 * @param {string} [word]
 */
export function chip(state, word = state) {
  return h('span', { class: `chip ${state}` }, icon(/** @type {any} */ (state)), word);
}

/**
 * A time: how long ago, and exactly when for whoever points at it.
 * @param {string | null} at
 */
export function when(at) {
  return at === null ? '–' : h('time', { datetime: at, title: exact(at) }, relative(at, now()));
}

/**
 * A time to the second, where it matters more than how long ago that was.
 * @param {string} at
 */
export function moment(at) {
  return h('time', { datetime: at, title: exact(at) }, exact(at.replace(/\.\d+/, '')));
}

/**
 * For how long something has been so.
 * @param {string} since
 */
export function lasting(since) {
  const seconds = Math.max(0, (now() - Date.parse(since)) / 1000);
  return h('time', { datetime: since, title: `since ${exact(since)}` }, span(seconds));
}

/**
 * Text that a pipeline, a receiver or a person wrote.
 * @param {unknown} text
 */
export function foreign(text) {
  return h('bdi', { class: 'foreign' }, visible(String(text ?? '')));
}

/**
 * Who did something, by the name of a token. One name is not given by people: it is told from theirs.
 * @param {string} name
 */
export function by(name) {
  return name === 'config' ? 'the token of the configuration' : foreign(name);
}

/**
 * A sentence of the server, in which names and commands stand between backticks.
 * @param {unknown} text
 */
export function prose(text) {
  const pieces = visible(String(text ?? '')).split(/`([^`]+)`/);
  return h('bdi', { class: 'foreign' }, pieces.map((piece, index) => (index % 2 ? h('code', null, piece) : piece)));
}

/**
 * A long foreign text, cut where it is very long.
 * @param {string} label
 * @param {string} text
 * @param {Set<string>} opened The labels of those that are shown whole.
 * @param {() => void} redraw
 */
export function block(label, text, opened, redraw) {
  const cut = text.length > SHOWN && !opened.has(label);
  return h('div', { class: 'block' },
    h('pre', { tabindex: 0, role: 'region', 'aria-label': label, dir: 'ltr' }, visible(cut ? text.slice(0, SHOWN) : text)),
    cut && h('p', { class: 'quiet' }, `The first ${size(SHOWN)} of ${size(text.length)} are shown. `,
      h('button', { type: 'button', class: 'plain', onclick: () => (opened.add(label), redraw()) }, 'Show all')));
}

/** Waiting. */
export function loading() {
  return h('p', { class: 'quiet', 'data-key': 'loading' }, 'Looking…');
}

/**
 * Nothing to show, and why.
 * @param {Children[]} words
 */
export function nothing(...words) {
  return h('p', { class: 'nothing' }, words);
}

/**
 * What went wrong. Where the server refused something, its sentence says all that the title does.
 * @param {import('./api.js').Problem} problem
 */
export function problemBox({ status, title, detail }) {
  const told = status >= 400 && status < 500;
  return h('div', { class: 'notice bad' }, icon('uncertain'), h('p', { class: told && !detail.startsWith('`') && 'sentence' }, !told && [h('strong', null, title), '. '], prose(detail)));
}

/**
 * Names and what stands behind them.
 * @param {[string, Children][]} pairs
 */
export function facts(pairs) {
  return h('dl', { class: 'facts' }, pairs.map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value))));
}

/**
 * The head of a view. It takes the focus when the view is come to, so that a screen reader begins there.
 * @param {Children} title
 * @param {Children[]} beside
 */
export function heading(title, ...beside) {
  return h('div', { class: 'head', 'data-key': 'head' }, h('h1', { tabindex: -1 }, title), h('div', { class: 'actions' }, beside));
}

/**
 * A table that becomes a list of cards where there is no room; its roles are said, since cards would lose them. Of a `short` column no
 * word is broken, a `long` one has room for a few.
 * @template T
 * @param {string} label
 * @param {{ name: string, cell: (row: T) => Children, kind?: 'number' | 'short' | 'long' }[]} columns
 * @param {T[]} rows
 * @param {(row: T) => string | number} keyOf
 */
export function table(label, columns, rows, keyOf) {
  return h('table', { role: 'table', 'aria-label': label },
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' },
      columns.map((column) => h('th', { role: 'columnheader', scope: 'col', class: column.kind }, column.name)))),
    h('tbody', { role: 'rowgroup' }, rows.map((row) => h('tr', { role: 'row', 'data-key': keyOf(row) },
      columns.map((column) => h('td', { role: 'cell', class: column.kind, 'data-name': column.name }, h('div', null, column.cell(row))))))));
}

/** @typedef {{ kind: 'good' | 'bad', sentence: string }} Said What an act brought. */

/**
 * Says what was done, also to whoever does not see it. It stays until somebody closes it, or leaves the view.
 * @param {Said | null} told
 */
export function say(told) {
  const said = document.getElementById('said');
  if (!said) return;
  said.className = told ? `said notice ${told.kind}` : 'said';
  said.replaceChildren(...nodes(told && sayings(told, () => say(null))));
}

/**
 * What was done, within a view.
 * @param {Said} told
 * @param {() => void} close
 */
export function saidBox(told, close) {
  return h('div', { class: `notice ${told.kind}` }, sayings(told, close));
}

/**
 * @param {Said} told
 * @param {() => void} close
 */
function sayings({ kind, sentence }, close) {
  return [
    icon(kind === 'good' ? 'delivered' : 'dead'),
    h('span', null, prose(sentence)),
    h('button', { type: 'button', class: 'plain', onclick: close }, 'Close'),
  ];
}
