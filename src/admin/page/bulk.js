// What can be done with all deliveries that match a filter. Each is counted before it is asked for, and takes a reason.

import { post, Problem } from './api.js';
import { ask } from './ask.js';
import { h } from './dom.js';
import { bodyOf, inWords } from './filter.js';
import { count, counted } from './format.js';
import { say } from './parts.js';
import { to } from './route.js';

/**
 * @typedef {object} Verb
 * @property {string} verb
 * @property {string} title
 * @property {(deliveries: string) => string} confirm What the button says, of so many deliveries.
 * @property {string} words
 * @property {string} none Why none would change.
 * @property {string} [evidence]
 * @property {boolean} [danger] Whether deliveries end unsent.
 */

/** @type {Verb[]} */
const VERBS = [
  { verb: 'retry-now', title: 'Retry now', confirm: (deliveries) => `Retry ${deliveries} now`, words: 'Those that wait for their next attempt are due at once. Nothing is sent twice by it.', none: 'None would change, since none waits for a later time: each is due already, is on its way, or has ended.' },
  { verb: 'cancel', title: 'Cancel deliveries', danger: true, confirm: (deliveries) => `End ${deliveries}`, words: 'Those that are owed or uncertain end, and are not sent. What is on its way may still arrive.', none: 'None would change, since none is owed or uncertain any more.' },
  { verb: 'mark-delivered', title: 'Mark delivered', confirm: (deliveries) => `Mark ${deliveries} delivered`, words: 'Those that are uncertain or dead count as delivered, and are not sent.', none: 'None would change, since none is uncertain or dead.', evidence: 'How do you know that they arrived?' },
];

/**
 * @param {URLSearchParams} filter
 * @param {() => void} then
 */
export function bulk(filter, then) {
  if ([...filter].length === 0) return h('p', { class: 'quiet' }, 'Choose a filter to act on all that match.');
  return h('details', { class: 'menu' },
    h('summary', null, 'All that match'),
    h('div', { class: 'actions' },
      h('a', { class: 'button', href: to(['replays', 'new'], filter) }, 'Replay…'),
      VERBS.map((verb) => h('button', { type: 'button', onclick: () => void begin(verb, filter, then) }, `${verb.title}…`))));
}

/**
 * Counts, and asks.
 * @param {Verb} verb
 * @param {URLSearchParams} filter
 * @param {() => void} then
 * @param {string | null} [keeps] What keeps them, where none would change.
 */
export async function begin({ verb, title, confirm, words, none, evidence, danger }, filter, then, keeps = null) {
  const path = `/deliveries/${verb}`;
  const body = { filter: bodyOf(filter) };
  const here = location.hash;
  const elsewhere = () => location.hash !== here;
  try {
    const counting = { path, totals: {}, after: null };
    await goOn(counting, { ...body, dry_run: true }, (totals) => say({ kind: 'good', sentence: `Counting: ${told(totals)} so far.` }), elsewhere);
    if (elsewhere()) return;
    say(null);
    const counts = counting.totals;
    const number = changed(counts);
    // Kept, so that after an error the same dialog goes on where it was.
    const acting = { path, totals: {}, after: null };
    ask({
      title: `${title}: all that match`,
      words: [h('p', null, `It is about ${inWords(filter)}.`), h('p', null, words), h('p', null, `Now: ${told(counts)}.`), number === 0 && h('p', null, none, keeps && ` ${keeps}`)],
      confirm: number > 0 ? confirm(counted(number, 'delivery', 'deliveries')) : 'None would change',
      idle: number === 0,
      danger,
      evidence,
      act: async (given, { tell, stopped }) => {
        const whole = await goOn(acting, { ...body, ...given }, (totals) => tell(`So far: ${told(totals)}.`), stopped);
        return `${whole ? 'Done' : 'Stopped'}: ${told(acting.totals)}.`;
      },
      then,
    });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    say({ kind: 'bad', sentence: error.detail });
  }
}

/**
 * @typedef {object} Course How far an act on many deliveries is. One request does a part of it.
 * @property {string} path
 * @property {Record<string, number>} totals What the parts have counted.
 * @property {string | null} after Where the last part ended.
 */

/**
 * Goes on until there is no more, or somebody stops it. Says whether it came to its end.
 * @param {Course} course
 * @param {Record<string, unknown>} body
 * @param {(totals: Record<string, number>) => void} tell
 * @param {() => boolean} stopped
 */
async function goOn(course, body, tell, stopped) {
  for (;;) {
    const { next, ...counts } = await post(course.path, { ...body, after: course.after });
    for (const [name, number] of Object.entries(counts)) course.totals[name] = (course.totals[name] ?? 0) + number;
    course.after = next;
    if (next === null || stopped()) return next === null;
    tell(course.totals);
  }
}

/** The verb that ends what is uncertain, for a group of trouble. */
export const MARK_DELIVERED = VERBS[2];
/** The verb that makes what waits due at once. */
export const RETRY_NOW = VERBS[0];

/**
 * How many deliveries an answer says are changed.
 * @param {{ cancelled?: number, requested?: number, hurried?: number, marked?: number }} counts
 */
function changed({ cancelled = 0, requested = 0, hurried = 0, marked = 0 }) {
  return cancelled + requested + hurried + marked;
}

/**
 * What an answer counts, in words.
 * @param {Record<string, unknown>} counts
 */
export function told(counts) {
  const parts = Object.entries(counts).filter(([, number]) => typeof number === 'number' && number > 0);
  return parts.map(([name, number]) => (name === 'skipped' ? `outbox row ${number} skipped` : `${count(Number(number))} ${name.replaceAll('_', ' ')}`)).join(', ') || 'nothing matched';
}
