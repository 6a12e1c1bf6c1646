// Looks again every three seconds while somebody can see it.

import { Problem, now } from './api.js';
import { h } from './dom.js';
import { loading, problemBox } from './parts.js';
import { patch } from './patch.js';
import { exact } from './format.js';

/** From an answer to the next question, in milliseconds. */
const PAUSE = 3000;

/** Answers of the 400s that another try may change: too slow, too often. */
const PASSING = [408, 429];

/** @typedef {{ look: () => Promise<void>, redraw: () => void }} Live */

/**
 * Shows in `region` what `load` brings, as `draw` draws it, until `signal` ends it. What was there stays while the server is away.
 * @template T
 * @param {Element} region
 * @param {AbortSignal} signal
 * @param {() => Promise<T>} load
 * @param {(told: T) => import('./dom.js').Children} draw
 * @returns {Live}
 */
export function live(region, signal, load, draw) {
  /** @type {{ told: T, at: number } | null} */
  let last = null;
  /** @type {Problem | null} */
  let problem = null;
  /** @type {number | undefined} */
  let timer;
  let looks = 0;

  const redraw = () => {
    const old = problem && last;
    const within = region.contains(document.activeElement);
    patch(region, [
      h('div', { 'data-key': 'problem', role: 'alert' }, problem && problemBox(problem),
        old && h('p', { class: 'quiet' }, `What you see is from ${exact(new Date(old.at).toISOString())}. The page goes on trying.`)),
      last ? draw(last.told) : !problem && loading(),
    ]);
    // What had the focus may be gone: begin again at the heading, not at the top of the page.
    if (within && !region.contains(document.activeElement)) document.querySelector('h1')?.focus({ preventScroll: true });
    region.setAttribute('aria-busy', String(!last && !problem));
  };

  const look = async () => {
    clearTimeout(timer);
    const mine = ++looks;
    try {
      const told = await load();
      // An answer that a later look has overtaken is old.
      if (signal.aborted || mine !== looks) return;
      [last, problem] = [{ told, at: now() }, null];
    } catch (error) {
      if (signal.aborted || mine !== looks) return;
      if (!(error instanceof Problem)) throw error;
      problem = error;
      // What the server refuses it will refuse again, and what was shown is no answer to it.
      if (refused(error)) last = null;
    }
    redraw();
    if (!document.hidden && !(problem && refused(problem))) timer = setTimeout(look, PAUSE);
  };

  const seen = () => {
    clearTimeout(timer);
    if (!document.hidden) void look();
  };
  document.addEventListener('visibilitychange', seen, { signal });
  signal.addEventListener('abort', () => clearTimeout(timer));
  redraw();
  void look();
  return { look, redraw };
}

/**
 * Whether the question itself was at fault.
 * @param {Problem} problem
 */
function refused({ status }) {
  return status >= 400 && status < 500 && !PASSING.includes(status);
}
